"""Scores against the gold response are those of the packages."""

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize.destructive import NLTKWordTokenizer
from nltk.translate.meteor_score import meteor_score
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from mmerg.scoring.intervals import Dialogues, compute_interval, resample
from mmerg.scoring.reference import reference_metrics
from tests.scoring.results import compute, make_pairs

TEXT = st.lists(st.sampled_from(["I", "am", "so", "sorry.", "No!", "You got it?"]), min_size=1, max_size=8).map(
    " ".join
)
METRICS = {metric.name: metric for metric in reference_metrics()}


class NoSynonyms:
    """A WordNet without words."""

    def synsets(self, word: str) -> list[str]:
        return []

    def get_version(self) -> str:
        return "none"


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6))
def test_scores_are_those_of_the_packages(pairs: list[tuple[str, str]]) -> None:
    own, gold = map(list, zip(*pairs, strict=True))
    rouge, cut = RougeScorer(["rougeL"]), NLTKWordTokenizer().tokenize
    expected = {
        "bleu": BLEU().corpus_score(own, [gold]).score,
        "rouge_l": 100 * fmean(rouge.score(b, a)["rougeL"].fmeasure for a, b in pairs),
        "chrf": fmean(CHRF().sentence_score(a, [b]).score for a, b in pairs),
    }
    assert {name: compute(METRICS[name], make_pairs(pairs)) for name in expected} == pytest.approx(expected)
    wordnet = NoSynonyms()
    _, _, metric, _ = reference_metrics(wordnet)
    assert "wordnet-none" in metric.signature
    stems = 100 * fmean(meteor_score([cut(b)], cut(a), wordnet=wordnet) for a, b in pairs)
    assert compute(metric, make_pairs(pairs)) == pytest.approx(stems)


def test_bleu_of_a_draw() -> None:
    pairs = [
        ("I am so sorry.", "I am so very sorry."),
        ("No!", "No, you got it?"),
        ("You got it, so", "You got it, no"),
    ]
    places = np.array([0, 0, 2])
    own, gold = map(list, zip(*(pairs[place] for place in places), strict=True))
    drawn = METRICS["bleu"].prepare(make_pairs(pairs))(places)
    assert drawn == pytest.approx(BLEU().corpus_score(own, [gold]).score)


def test_bleu_has_an_interval_from_100_dialogues_on() -> None:
    value = METRICS["bleu"].prepare(make_pairs([("You got it, so", "You got it, no"), ("No!", "No, you?")] * 50))
    whys = [compute_interval("bootstrap", value, np.arange(100) % n, resamples=20, seed=0).why for n in (99, 100)]
    assert whys == ["no interval: fewer than 100 dialogues", ""]
    assert resample("bootstrap", value, 50, Dialogues(np.arange(100) % 99), draws=20, seed=0)[1] > 0  # widens p
