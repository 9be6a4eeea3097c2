"""Distinct-n and its expectation-adjusted form, by hand and by their definitions."""

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize import word_tokenize

from mmerg.scoring.distinct import CL100K, distinct
from mmerg.scoring.metric import Metric
from mmerg.scoring.tokenizers import load_tokenizer
from tests.scoring.results import compute, count, replies

TALK = [
    "I can't believe it. It's $3.50, isn't it?",
    'She said "no" -- twice... (really!)',
    "well-known U.S.A. prices: 1,000 or 10-20% & more",
    "Ünïcode ’quotes’ “here” 😊😊 漢字",
    "a\tb  c\u00a0d",
    "&quot;escaped&quot; -\n line",
]
WORDS = st.lists(st.sampled_from(["so", "it", "is", "not"]), max_size=6).map(" ".join)


def plain(n: int) -> Metric:
    return distinct(n, "whitespace")


def test_distinct_n_grams_are_counted_over_all_replies() -> None:
    results = replies("so it is", "It is", "no")
    assert compute(plain(1), results) == pytest.approx(100 * 4 / 6)
    assert compute(plain(2), results) == pytest.approx(100 * 2 / 3)
    assert [count(plain(n), results) for n in (1, 2, 3, 4)] == [3, 3, 3, 0]


def test_tokens_equal_those_of_nltk_and_split() -> None:
    for text in TALK:
        assert load_tokenizer("nltk")(text) == tuple(word_tokenize(text.lower(), preserve_line=True))
        assert load_tokenizer("whitespace")(text) == tuple(text.lower().split())
    assert load_tokenizer("char")("我 好.") == ("我", "好", ".")


@given(st.lists(WORDS, min_size=1, max_size=8), st.sampled_from([1, 2]))
def test_both_forms_follow_their_definition(texts: list[str], n: int) -> None:
    grams = [[tuple(w[i : i + n]) for i in range(len(w) - n + 1)] for w in (text.split() for text in texts)]
    all_grams = [gram for of_reply in grams for gram in of_reply]
    corpus = 100 * len(set(all_grams)) / len(all_grams) if all_grams else nan
    assert compute(plain(n), replies(*texts)) == pytest.approx(corpus, nan_ok=True)
    v, c = CL100K, len(all_grams)
    expected = 100 * len(set(all_grams)) / (v * (1 - ((v - 1) / v) ** c)) if all_grams else nan
    assert compute(distinct(n, "whitespace", adjusted=True), replies(*texts)) == pytest.approx(expected, nan_ok=True)
