"""The metric NAME: the share of replies that ask a question."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.answers import Answer
from mmerg.scoring.metric import IntervalBy, Value, ratio


@dataclass(frozen=True)
class Metric:
    """Questions over replies, x100; a failed sample has no reply and does not count."""

    name: str = "NAME"
    higher_is_better: bool | None = None  # it describes and does not judge
    interval_by: IntervalBy = "wilson"  # of shares; bootstrap suits all else
    needs: str = "a reply"
    signature: str = "mark:?|scale:100"  # all that decides the figure

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        return np.array([answer.ok for answer in answers])

    def ready(self, answers: Sequence[Answer]) -> Value:
        counted = self.counted(answers)
        asks = np.array(["?" in (answer.result.response or "") for answer in answers])
        return ratio(np.where(asks & counted, 100.0, 0.0), np.where(counted, 1.0, 0.0))
