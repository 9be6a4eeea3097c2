"""Macro-F1 of the forecast: the F1 of each emotion, averaged, so that rare emotions weigh as much as neutral.

MacroF1().ready(run.answers)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.accuracy import labelled
from mmerg.scoring.answers import Answer
from mmerg.scoring.metric import Indices, IntervalBy, Value


@dataclass(frozen=True)
class MacroF1:
    """Over the labels that occur among the gold labels: 2·hits / (gold + forecasts), averaged, ×100. A label that is
    forecast and never gold has no F1 of its own; it costs recall of the others. A failed sample is a forecast of none
    of them. Any draw of the answers is over the labels of all of them, with an F1 of 0 for one that the draw lacks (as
    scikit-learn's `f1_score(labels=…, zero_division=0)`): else a rare label that is missed would come and go."""

    name: str = "macro_f1"
    higher_is_better: bool | None = True
    interval_by: IntervalBy = "bootstrap"
    needs: str = "a gold label and a forecast, or a failure"
    signature: str = "label:target|labels:in-gold|failed:wrong|scale:100"

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        return labelled(answers, failed=True)

    def ready(self, answers: Sequence[Answer]) -> Value:
        counted = self.counted(answers)
        numbers: dict[str | None, int] = {None: 0}  # 0: no forecast, or not counted
        gold = np.array([_number(numbers, answer.result.gold_emotion) for answer in answers], np.intp)
        forecast = np.array(
            [_number(numbers, answer.result.emotion if answer.ok else None) for answer in answers], np.intp
        )
        labels, said = np.where(counted, gold, 0), np.where(counted, forecast, 0)
        kinds = len(numbers)
        occur = np.bincount(labels, minlength=kinds)[1:] > 0

        def value(indices: Indices) -> float:
            true, given = labels[indices], said[indices]
            golds = np.bincount(true, minlength=kinds)[1:]
            forecasts = np.bincount(given[true > 0], minlength=kinds)[1:]
            hits = np.bincount(true[true == given], minlength=kinds)[1:]
            scores = 200.0 * hits / np.maximum(golds + forecasts, 1)
            return float(np.mean(scores[occur])) if true.any() else float("nan")

        return value


def _number(numbers: dict[str | None, int], label: str | None) -> int:
    return numbers.setdefault(label, len(numbers))
