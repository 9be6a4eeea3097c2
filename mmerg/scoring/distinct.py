"""Distinct-n: the share of n-grams that are distinct (Li et al. 2016, arXiv 1510.03055).

It is measured over all replies of a run together. It falls with the number of replies, so compare it only at the same
n. ×100, higher is better.

The expectation-adjusted form (Liu et al. 2022, arXiv 2202.13587) falls less, as it divides by the expected number of
distinct n-grams: EAD = N / (V · (1 − ((V − 1) / V)^C)), with N distinct n-grams among C n-grams, and a vocabulary of
size V.

    distinct(2), distinct(2, adjusted=True)    # used as shown in `metric`
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np

from mmerg.runs.result import Result
from mmerg.scoring.metric import Indices, Mask, Metric, Value
from mmerg.scoring.tokenizers import Tokenizer, load_tokenizer, tokenizer_signature

CL100K = 100_277  # V of TRACE (arXiv 2509.21849): the number of tokens of cl100k_base


def distinct(n: int, tokenizer: Tokenizer = "nltk", *, adjusted: bool = False) -> Metric:
    """Measures the number of distinct n-grams over the number of all n-grams of a run, or over the expected number if
    `adjusted`. Failed samples do not count. A reply of fewer than n tokens has no n-gram."""

    def mask(results: Sequence[Result]) -> Mask:
        tokenize = load_tokenizer(tokenizer)
        lengths = np.array([len(tokenize(result.response or "")) if result.ok else 0 for result in results], np.intp)
        return lengths >= (1 if (lengths >= n).any() else n)

    vocabulary = f"|V:{CL100K}" if adjusted else ""
    return Metric(
        name=f"ead{n}" if adjusted else f"dist{n}",
        signature=f"n:{n}{vocabulary}|{tokenizer_signature(tokenizer)}|level:corpus|failed:skipped|scale:100",
        needs=f"a reply of {n} tokens or more",
        mask=mask,
        prepare=partial(count_distinct, n, tokenizer, adjusted),
        interval_by="jackknife",
        higher_is_better=True,
    )


def count_distinct(n: int, tokenizer: Tokenizer, adjusted: bool, results: Sequence[Result]) -> Value:
    """Returns the function that computes `distinct` for any of these results."""
    replies = map(load_tokenizer(tokenizer), (result.response or "" for result in results))
    ngrams = [list(zip(*(tokens[start:] for start in range(n)), strict=False)) for tokens in replies]
    numbers = {ngram: number for number, ngram in enumerate(dict.fromkeys(chain(*ngrams)))}
    ids = np.array([numbers[ngram] for ngram in chain(*ngrams)], np.intp)
    lengths = np.array(list(map(len, ngrams)), np.intp)

    def value(indices: Indices) -> float:
        chosen = np.zeros(len(lengths), bool)
        chosen[indices] = True
        present = np.zeros(len(numbers), bool)
        present[ids[np.repeat(chosen, lengths)]] = True
        total = float(lengths[indices].sum())
        # This form of V · (1 − ((V − 1) / V)^C) is accurate for a small C / V.
        expected = -CL100K * np.expm1(total * np.log1p(-1 / CL100K)) if adjusted else total
        return float(100 * np.count_nonzero(present) / expected) if total else float("nan")

    return value
