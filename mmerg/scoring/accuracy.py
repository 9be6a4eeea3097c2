"""Emotion accuracy: how often the forecast is the label of the hidden target turn.

MERG, arXiv 2604.18988, section 4: the emotion that the response should carry, against the label of the real next turn.
×100, higher is better. Its value of 83.87 on IEMOCAP is 26 of 31.

    Accuracy().ready(run.answers)(np.arange(len(run.answers)))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.answers import Answer
from mmerg.scoring.metric import IntervalBy, Value, ratio
from mmerg.scoring.score import Confusion


@dataclass(frozen=True)
class Accuracy:
    """Correct forecasts over samples with a gold label. A failed sample is wrong (TRACE leaves these out, which
    `ok_only` does); a sample without a gold label does not count. Without a single forecast there is no figure: the
    system has no such stage."""

    ok_only: bool = False
    higher_is_better: bool | None = True
    interval_by: IntervalBy = "wilson"

    @property
    def name(self) -> str:
        return "acc_ok" if self.ok_only else "acc"

    @property
    def needs(self) -> str:
        return "a gold label and a forecast" + ("" if self.ok_only else ", or a failure")

    @property
    def signature(self) -> str:
        return f"label:target|failed:{'left-out' if self.ok_only else 'wrong'}|scale:100"

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        return labelled(answers, failed=not self.ok_only)

    def ready(self, answers: Sequence[Answer]) -> Value:
        counted = self.counted(answers)
        right = np.array(
            [answer.ok and answer.result.emotion == answer.result.gold_emotion for answer in answers], bool
        )
        return ratio(np.where(right & counted, 100.0, 0.0), counted.astype(float))


def labelled(answers: Sequence[Answer], *, failed: bool) -> NDArray[np.bool_]:
    """Which answers a forecast can be judged for: those with a gold label and a forecast; with `failed` all that have a
    gold label, one without a forecast being wrong. None where no answer has a forecast, as not all failed."""
    gold = np.array([answer.result.gold_emotion is not None for answer in answers], bool)
    forecast = np.array([answer.ok and answer.result.emotion is not None for answer in answers], bool)
    broken = np.array([not answer.ok for answer in answers], bool)
    if not forecast.any() and not broken.all():
        return forecast
    found: NDArray[np.bool_] = gold if failed else gold & forecast
    return found


def confusion(answers: Sequence[Answer], labels: Sequence[str]) -> Confusion | None:
    """Which emotion is taken for which, over the samples that `acc` is over. Rows and columns in the order of
    `labels` (the dataset's), any other label that occurs behind them. None where accuracy has no figure, either."""
    kept = [answer.result for answer, counts in zip(answers, labelled(answers, failed=True), strict=True) if counts]
    if not kept:
        return None
    seen = {label for result in kept for label in (result.gold_emotion, result.emotion) if label is not None}
    order = (*labels, *sorted(seen - set(labels)))
    pairs = Counter((result.gold_emotion, result.emotion) for result in kept if result.status == "ok")
    failed = Counter(result.gold_emotion for result in kept if result.status != "ok")
    return Confusion(
        labels=order,
        counts=tuple(tuple(pairs[gold, forecast] for forecast in order) for gold in order),
        failed=tuple(failed[gold] for gold in order),
    )
