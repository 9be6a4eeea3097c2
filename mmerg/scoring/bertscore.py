"""BERTScore of the replies against the data's own: precision, recall, F1. Needs `pip install 'mmerg[metrics]'`.

Raw roberta-large, layer 17, without idf and rescaling, as the field reports it (77 to 87), ×100, higher is better; the
mean over pairs of each. `pair_scorer` computes it.

    BertScore("f1", "roberta-large", 17).ready(run.answers)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.answers import Answer
from mmerg.scoring.metric import IntervalBy, Value, ratio
from mmerg.scoring.pair_scorer import PairScorer, load

Part = Literal["p", "r", "f1"]
PARTS: tuple[Part, ...] = ("p", "r", "f1")


@dataclass(frozen=True)
class BertScore:
    """A sample that did not fail and has a gold response that is not blank counts; a blank reply to it scores 0."""

    part: Part
    model: str = "roberta-large"
    layers: int | None = None
    higher_is_better: bool | None = True
    interval_by: IntervalBy = "bootstrap"
    needs: str = "a reply and a gold response"

    @property
    def name(self) -> str:
        return f"bert_{self.part}"

    @property
    def signature(self) -> str:
        scorer = self._scorer()
        return f"{scorer.signature}|blank:0|failed:left-out|scale:100||{scorer.recorded}"

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        return np.array([answer.ok and bool((answer.result.gold_response or "").strip()) for answer in answers], bool)

    def ready(self, answers: Sequence[Answer]) -> Value:
        counted = self.counted(answers)
        pairs = [
            (answer.result.response or "", answer.result.gold_response or "")
            for answer, counts in zip(answers, counted, strict=True)
            if counts
        ]
        scores = np.zeros(len(answers))
        scores[counted] = [100.0 * three[PARTS.index(self.part)] for three in self._scorer().scores(pairs)]
        return ratio(scores, counted.astype(float))

    def _scorer(self) -> PairScorer:
        return load(self.model, self.layers)
