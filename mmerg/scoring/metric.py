"""What a metric is: made ready once over a list of answers, then a value for any of them, any number of times each.

The same few numpy operations then serve the figure itself, a bootstrap (dialogues drawn with repetition), and paired
tests (two runs' answers in one list, exchanged pairwise).

    value = Distinct(n=2).ready(run.answers)
    value(np.arange(len(run.answers)))    # the figure
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.answers import Answer

Indices: TypeAlias = NDArray[np.intp]
Value: TypeAlias = Callable[[Indices], float]  # NaN where none of the answers counts


class Metric(Protocol):
    """A named figure over answers.

    Metrics skip answers that have nothing for them (no response, no label), and never change or print anything.
    """

    @property
    def name(self) -> str:
        """The column: acc, dist1, …"""

    @property
    def higher_is_better(self) -> bool | None:
        """None for what describes and does not judge."""

    @property
    def signature(self) -> str:
        """The options, versions and model hashes that decide the figure, as `key:value` joined by `|`."""

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        """Shape [answers]: which of them the figure is over."""

    def ready(self, answers: Sequence[Answer]) -> Value:
        """Prepare, once, what `answers` give; indices into them are what the value is asked for."""
