"""Distinct-n: the share of n-grams that are distinct (Li et al. 2016, arXiv 1510.03055).

It is measured over all replies of a run together. It falls with the number of replies, so compare it only at the same
n. ×100, higher is better.

The expectation-adjusted form (Liu et al. 2022, arXiv 2202.13587) falls less, as it divides by the expected number of
distinct n-grams: EAD = N / (V · (1 − ((V − 1) / V)^C)), with N distinct n-grams among C n-grams, and a vocabulary of
size V.

    distinct(2), adjusted_distinct(2, vocabulary=100_277)    # used as shown in `metric`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from mmerg.runs.result import Result
from mmerg.scoring.metric import Floats, Indices, Mask, Metric
from mmerg.scoring.tokenizers import Tokenizer, load_tokenizer, tokenizer_signature

CL100K = 100_277  # V of TRACE (arXiv 2509.21849): the number of tokens of cl100k_base


def distinct(n: int, tokenizer: Tokenizer = "nltk") -> Metric:
    """Measures the number of distinct n-grams over the number of all n-grams of a run. Failed samples do not count. A
    reply of fewer than n tokens has no n-gram."""

    def mask(results: Sequence[Result]) -> Mask:
        tokenize = load_tokenizer(tokenizer)
        lengths = np.array([len(tokenize(result.response or "")) if result.ok else 0 for result in results], np.intp)
        return lengths >= (1 if (lengths >= n).any() else n)

    return Metric(
        name=f"dist{n}",
        signature=f"n:{n}|{tokenizer_signature(tokenizer)}|level:corpus|failed:skipped|scale:100",
        needs=f"a reply of {n} tokens or more",
        mask=mask,
        prepare=lambda results: Distinct(_extract(results, tokenizer, n), np.asarray),
        interval_by="jackknife",
        higher_is_better=True,
    )


def adjusted_distinct(n: int, tokenizer: Tokenizer = "nltk", *, vocabulary: int = CL100K) -> Metric:
    """Measures the expectation-adjusted form of `distinct`. vocabulary: V."""

    def expect(total: Indices) -> Floats:
        """Returns the expected number of distinct n-grams; this form of the formula is accurate for a small C/V."""
        return -vocabulary * np.expm1(total * np.log1p(-1 / vocabulary)) if vocabulary > 1 else np.ones(total.shape)

    plain = distinct(n, tokenizer)
    return replace(
        plain,
        name=f"ead{n}",
        signature=plain.signature.replace("|", f"|V:{vocabulary}|", 1),
        prepare=lambda results: Distinct(_extract(results, tokenizer, n), expect),
    )


@dataclass(frozen=True)
class NGrams:
    """The n-grams of replies, in their order; none spans two replies."""

    ids: Indices  # shape [n-grams], numbers from 0, equal for equal n-grams
    lengths: Indices  # shape [replies], the number of n-grams of each
    kinds: int  # the number of distinct n-grams


@dataclass(frozen=True)
class Distinct:
    """A value: the number of distinct n-grams over the expected number, ×100."""

    grams: NGrams
    expect: Callable[[Indices], Floats]  # gives the expected number for a number of n-grams

    def __call__(self, indices: Indices) -> float:
        chosen = np.zeros(len(self.grams.lengths), bool)
        chosen[indices] = True
        present = np.zeros(self.grams.kinds, bool)
        present[self.grams.ids[np.repeat(chosen, self.grams.lengths)]] = True
        total = np.asarray(self.grams.lengths[indices].sum())
        return float(100 * np.count_nonzero(present) / self.expect(total)) if total else float("nan")


def _extract(results: Sequence[Result], tokenizer: Tokenizer, n: int) -> NGrams:
    return extract_ngrams([result.response or "" for result in results], tokenizer, n)


def extract_ngrams(replies: Sequence[str], tokenizer: Tokenizer, n: int) -> NGrams:
    tokens = list(map(load_tokenizer(tokenizer), replies))
    numbers = {token: number for number, token in enumerate(dict.fromkeys(chain(*tokens)))}
    token_ids = np.array([numbers[token] for token in chain(*tokens)], np.intp)
    reply = np.repeat(np.arange(len(tokens)), np.array(list(map(len, tokens)), np.intp))
    ids = token_ids
    for length in range(2, n + 1):  # an n-gram is a shorter one followed by a token
        ids = np.unique(ids[:-1] * len(numbers) + token_ids[length - 1 :], return_inverse=True)[1]
    first = reply[: len(ids)]  # the reply of the first token
    within = first == reply[n - 1 :]
    kinds, ids = np.unique(ids[within], return_inverse=True)
    return NGrams(ids, np.bincount(first[within], minlength=len(tokens)), len(kinds))
