"""Distinct-n: the share of n-grams that are distinct (Li et al. 2016, arXiv 1510.03055).

Over all replies of a run together (corpus), or within each reply and then averaged (response): these differ by a
factor of ten. It falls with the number of replies, so compare it at the same n only. ×100, higher is better.

Expectation-adjusted (Liu et al. 2022, arXiv 2202.13587) it falls less: distinct n-grams over how many would be expected
of as many n-grams. EAD = N / (V · (1 − ((V − 1) / V)^C)), N distinct n-grams of C, V the size of the vocabulary.

    Distinct(n=2).ready(run.answers)
    ExpectationAdjusted(n=2, vocabulary=100_277).ready(run.answers)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.answers import Answer
from mmerg.scoring.metric import Indices, IntervalBy, Value, ratio
from mmerg.scoring.ngrams import Grams
from mmerg.scoring.words import Tokenizer, tokenizer, tokenizer_signature

Level = Literal["corpus", "response"]
CL100K = 100_277  # the tokens of cl100k_base, which TRACE (arXiv 2509.21849) takes for V


@dataclass(frozen=True)
class Distinct:
    """Distinct n-grams over all n-grams. A failed sample and a reply of fewer than n tokens have none: not counted."""

    n: int
    tokenizer: Tokenizer = "nltk"
    level: Level = "corpus"
    lower: bool = True
    higher_is_better: bool | None = True

    @property
    def name(self) -> str:
        return f"dist{self.n}"

    @property
    def needs(self) -> str:
        return f"a reply of {self.n} tokens or more"

    @property
    def signature(self) -> str:
        cut = tokenizer_signature(self.tokenizer, lower=self.lower)
        return f"n:{self.n}|{cut}|level:{self.level}|failed:left-out|scale:100"

    @property
    def interval_by(self) -> IntervalBy:
        return "jackknife" if self.level == "corpus" else "bootstrap"

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        return self._grams(answers).lengths > 0

    def ready(self, answers: Sequence[Answer]) -> Value:
        grams = self._grams(answers)
        if self.level == "response":
            shares = 100.0 * grams.own_distinct() / np.maximum(grams.lengths, 1)
            return ratio(shares, (grams.lengths > 0).astype(float))

        def value(indices: Indices) -> float:
            total = grams.total(indices)
            return 100.0 * grams.distinct(indices) / self._most(total) if total else float("nan")

        return value

    def _most(self, total: int) -> float:
        """What distinct n-grams are held against, of so many in all."""
        return total

    def _grams(self, answers: Sequence[Answer]) -> Grams:
        return grams_of(spoken(answers), self.tokenizer, self.lower, self.n)


@dataclass(frozen=True)
class ExpectationAdjusted(Distinct):
    """Over all replies of a run together. V decides the figure: it is in the signature. Tokens as for Distinct-n."""

    vocabulary: int = CL100K

    @property
    def name(self) -> str:
        return f"ead{self.n}"

    @property
    def signature(self) -> str:
        return super().signature.replace("|", f"|V:{self.vocabulary}|", 1)

    def _most(self, total: int) -> float:
        # 1 − (1 − 1/V)^C, exact for V = 1 and for small C/V
        share = -np.expm1(total * np.log1p(-1.0 / self.vocabulary)) if self.vocabulary > 1 else 1.0
        return self.vocabulary * float(share)


def spoken(answers: Sequence[Answer]) -> tuple[str | None, ...]:
    """The replies, None where there is none."""
    return tuple(answer.result.response if answer.ok else None for answer in answers)


@lru_cache(maxsize=8)  # what counts and the figure, Distinct and EAD, ask for the same: of two runs and both, n 1 and 2
def grams_of(replies: tuple[str | None, ...], words: Tokenizer, lower: bool, n: int) -> Grams:
    """The n-grams of replies; those of the last few lists are kept, as cutting texts takes longest."""
    return Grams.of(replies, tokenizer(words, lower=lower), n)
