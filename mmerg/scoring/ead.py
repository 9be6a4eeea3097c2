"""Expectation-adjusted Distinct-n: distinct n-grams over how many would be expected of as many n-grams (Liu et al.
2022, arXiv 2202.13587). It falls less with the number of replies than Distinct-n does.

EAD = N / (V · (1 − ((V − 1) / V)^C)), N distinct n-grams of C, V the size of the vocabulary. ×100, higher is better.

    ExpectationAdjusted(n=2, vocabulary=100_277).ready(run.answers)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.answers import Answer
from mmerg.scoring.distinct import grams_of, spoken
from mmerg.scoring.metric import Indices, IntervalBy, Value
from mmerg.scoring.ngrams import Grams
from mmerg.scoring.words import Tokenizer, tokenizer_signature

CL100K = 100_277  # the tokens of cl100k_base, which TRACE (arXiv 2509.21849) takes for V


@dataclass(frozen=True)
class ExpectationAdjusted:
    """Over all replies of a run together. V decides the figure: it is in the signature. Tokens as for Distinct-n."""

    n: int
    vocabulary: int = CL100K
    tokenizer: Tokenizer = "nltk"
    lower: bool = True
    higher_is_better: bool | None = True
    interval_by: IntervalBy = "jackknife"

    @property
    def name(self) -> str:
        return f"ead{self.n}"

    @property
    def needs(self) -> str:
        return f"a reply of {self.n} tokens or more"

    @property
    def signature(self) -> str:
        cut = tokenizer_signature(self.tokenizer, lower=self.lower)
        return f"n:{self.n}|V:{self.vocabulary}|{cut}|level:corpus|failed:left-out|scale:100"

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        return self._grams(answers).lengths > 0

    def ready(self, answers: Sequence[Answer]) -> Value:
        grams = self._grams(answers)

        def value(indices: Indices) -> float:
            total = grams.total(indices)
            # 1 − (1 − 1/V)^C, exact for V = 1 and for small C/V
            share = -np.expm1(total * np.log1p(-1.0 / self.vocabulary)) if self.vocabulary > 1 else float(total > 0)
            return 100.0 * grams.distinct(indices) / (self.vocabulary * float(share)) if total else float("nan")

        return value

    def _grams(self, answers: Sequence[Answer]) -> Grams:
        return grams_of(spoken(answers), self.tokenizer, self.lower, self.n)
