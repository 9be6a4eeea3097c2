"""Distinct-n: the share of n-grams that are distinct (Li et al. 2016, arXiv 1510.03055).

Over all replies of a run together. It falls with the number of replies, so compare it only at the same n. ×100, higher
is better.

The expectation-adjusted form (Liu et al. 2022, arXiv 2202.13587) falls less: it divides by the expected number of
distinct n-grams. EAD = N / (V · (1 − ((V − 1) / V)^C)), with N distinct n-grams among C, and a vocabulary of size V.

    score(distinct(2), run.results).value
    score(adjusted_distinct(2, vocabulary=100_277), run.results).value
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from mmerg.runs.result import Result
from mmerg.scoring.metric import Floats, Indices, Mask, Metric
from mmerg.scoring.tokenizers import Tokenizer, load_tokenizer, tokenizer_signature

CL100K = 100_277  # the tokens of cl100k_base, which TRACE (arXiv 2509.21849) uses for V


def distinct(n: int, words: Tokenizer = "nltk") -> Metric:
    """Distinct n-grams over all n-grams of a run. Failed samples do not count. A reply of fewer than n tokens has no
    n-gram."""

    def mask(results: Sequence[Result]) -> Mask:
        split = load_tokenizer(words)
        lengths = np.array([len(split(result.response or "")) if result.ok else 0 for result in results], np.intp)
        return lengths >= (1 if (lengths >= n).any() else n)

    return Metric(
        name=f"dist{n}",
        signature=f"n:{n}|{tokenizer_signature(words)}|level:corpus|failed:left-out|scale:100",
        needs=f"a reply of {n} tokens or more",
        mask=mask,
        prepare=lambda results: Distinct(extract_ngrams([one.response or "" for one in results], words, n), np.asarray),
        interval_by="jackknife",
        higher_is_better=True,
    )


def adjusted_distinct(n: int, words: Tokenizer = "nltk", *, vocabulary: int = CL100K) -> Metric:
    """The expectation-adjusted form. vocabulary: V."""

    def expected(total: Indices) -> Floats:  # accurate for small C/V
        return -vocabulary * np.expm1(total * np.log1p(-1 / vocabulary)) if vocabulary > 1 else np.ones(total.shape)

    plain = distinct(n, words)
    return replace(
        plain,
        name=f"ead{n}",
        signature=plain.signature.replace("|", f"|V:{vocabulary}|", 1),
        prepare=lambda results: Distinct(extract_ngrams([one.response or "" for one in results], words, n), expected),
    )


@dataclass(frozen=True)
class Grams:
    """The n-grams of replies as numbers; none spans two replies. ids: shape [n-grams], equal for equal n-grams.
    lengths: shape [replies], the number of n-grams of each. kinds: the number of distinct n-grams."""

    ids: Indices
    lengths: Indices
    kinds: int


@dataclass(frozen=True)
class Distinct:
    """Distinct n-grams over their `expected` number, ×100."""

    grams: Grams
    expected: Callable[[Indices], Floats]

    def __call__(self, indices: Indices) -> float:
        chosen = np.zeros(len(self.grams.lengths), bool)
        chosen[indices] = True
        present = np.zeros(self.grams.kinds, bool)
        present[self.grams.ids[np.repeat(chosen, self.grams.lengths)]] = True
        total = np.asarray(self.grams.lengths[indices].sum())
        return float(100 * np.count_nonzero(present) / self.expected(total)) if total else float("nan")


def extract_ngrams(replies: Sequence[str], words: Tokenizer, n: int) -> Grams:
    """The n-grams of replies."""
    tokens = list(map(load_tokenizer(words), replies))
    numbers = {token: number for number, token in enumerate(dict.fromkeys(chain(*tokens)))}
    each = np.array([numbers[token] for token in chain(*tokens)], np.intp)
    reply = np.repeat(np.arange(len(tokens)), np.array([len(own) for own in tokens], np.intp))
    ids = each
    for length in range(2, n + 1):  # an n-gram is a shorter one and a token
        ids = np.unique(ids[:-1] * len(numbers) + each[length - 1 :], return_inverse=True)[1]
    begins = reply[: len(ids)]
    whole = begins == reply[n - 1 :]
    kinds, ids = np.unique(ids[whole], return_inverse=True)
    return Grams(ids, np.bincount(begins[whole], minlength=len(tokens)), len(kinds))
