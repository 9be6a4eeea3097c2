"""Distinct-n: the share of n-grams that are distinct (Li et al. 2016, arXiv 1510.03055).

Over all replies of a run together (corpus), or within each reply and then averaged (response): these differ by a
factor of ten. It falls with the number of replies, so compare it at the same n only. ×100, higher is better.

Expectation-adjusted (Liu et al. 2022, arXiv 2202.13587) it falls less: distinct n-grams over how many would be expected
of as many n-grams. EAD = N / (V · (1 − ((V − 1) / V)^C)), N distinct n-grams of C, V the size of the vocabulary.

    scored(distinct(2), run.answers, DEFAULTS).value
    scored(adjusted(2, vocabulary=100_277), run.answers, DEFAULTS).value
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from mmerg.runs.result import Result
from mmerg.scoring.metric import Indices, Mask, Metric, Ratio, Value
from mmerg.scoring.words import Tokenizer, tokenizer, tokenizer_signature

Level = Literal["corpus", "response"]
CL100K = 100_277  # the tokens of cl100k_base, which TRACE (arXiv 2509.21849) takes for V


def distinct(n: int, words: Tokenizer = "nltk", level: Level = "corpus", *, lower: bool = True) -> Metric:
    """Distinct n-grams over all n-grams. A failed sample and a reply of fewer than n tokens have none: not counted."""
    return _distinct(n, words, level, lower, float)


def adjusted(n: int, words: Tokenizer = "nltk", *, lower: bool = True, vocabulary: int = CL100K) -> Metric:
    """The expectation-adjusted form, over all replies of a run together. V decides the figure: it is in the signature.
    Tokens as for Distinct-n."""

    def expected(total: int) -> float:
        # 1 − (1 − 1/V)^C, exact for V = 1 and for small C/V
        share = -np.expm1(total * np.log1p(-1.0 / vocabulary)) if vocabulary > 1 else 1.0
        return vocabulary * float(share)

    found = _distinct(n, words, "corpus", lower, expected)
    return replace(found, name=f"ead{n}", signature=found.signature.replace("|", f"|V:{vocabulary}|", 1))


def _distinct(n: int, words: Tokenizer, level: Level, lower: bool, most: Callable[[int], float]) -> Metric:
    """most: what the distinct n-grams of so many in all are held against."""
    cut = tokenizer(words, lower=lower)

    def counted(results: Sequence[Result]) -> Mask:
        return np.array([result.ok and len(cut(result.response or "")) >= n for result in results], bool)

    def ready(results: Sequence[Result]) -> Value:
        grams = grams_of(tuple(result.response for result in results), words, lower, n)
        if level == "response":
            return Ratio(100.0 * grams.own_distinct() / np.maximum(grams.lengths, 1), (grams.lengths > 0).astype(float))

        def value(indices: Indices) -> float:
            total = int(grams.lengths[indices].sum())
            return 100.0 * grams.distinct(indices) / most(total) if total else float("nan")

        return value

    return Metric(
        name=f"dist{n}",
        signature=f"n:{n}|{tokenizer_signature(words, lower=lower)}|level:{level}|failed:left-out|scale:100",
        needs=f"a reply of {n} tokens or more",
        counted=counted,
        ready=ready,
        interval_by="jackknife" if level == "corpus" else "bootstrap",
        higher_is_better=True,
    )


@dataclass(frozen=True)
class Grams:
    """N-grams of replies as numbers. ids: every one of every reply, in order, by a number for each distinct one;
    lengths: how many each reply has; kinds: how many distinct ones there are. None spans two replies."""

    ids: Indices
    lengths: Indices
    kinds: int

    def distinct(self, indices: Indices) -> int:
        """Distinct n-grams in the replies at `indices`."""
        named = np.zeros(len(self.lengths), bool)
        named[indices] = True
        seen = np.zeros(self.kinds, bool)
        seen[self.ids[np.repeat(named, self.lengths)]] = True
        return int(np.count_nonzero(seen))

    def own_distinct(self) -> Indices:
        """Shape [replies]: the distinct n-grams within each."""
        owner = np.repeat(np.arange(len(self.lengths)), self.lengths)
        pairs = np.unique(owner * max(self.kinds, 1) + self.ids)
        return np.bincount(pairs // max(self.kinds, 1), minlength=len(self.lengths))


@lru_cache(maxsize=8)  # Distinct and EAD ask for the same: of two runs and both, n 1 and 2
def grams_of(replies: tuple[str | None, ...], words: Tokenizer, lower: bool, n: int) -> Grams:
    """The n-grams of replies, None having none; those of the last few lists are kept, as cutting takes longest."""
    cut = tokenizer(words, lower=lower)
    numbers: dict[tuple[str, ...], int] = {}
    ids: list[int] = []
    lengths: list[int] = []
    for reply in replies:
        tokens = cut(reply) if reply else ()
        grams = [tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]
        ids += [numbers.setdefault(gram, len(numbers)) for gram in grams]
        lengths.append(len(grams))
    return Grams(np.array(ids, np.intp), np.array(lengths, np.intp), len(numbers))
