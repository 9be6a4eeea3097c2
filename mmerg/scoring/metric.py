"""What a metric is: made ready once over a list of answers, then a value for any of them, any number of times each.

The same few numpy operations then serve the figure itself, a bootstrap (dialogues drawn with repetition), and paired
tests (two runs' answers in one list, exchanged pairwise).

    value = Distinct(n=2).ready(run.answers)
    value(np.arange(len(run.answers)))    # the figure
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.answers import Answer

Indices: TypeAlias = NDArray[np.intp]
Value: TypeAlias = Callable[[Indices], float]  # NaN where none of the answers counts
Floats: TypeAlias = NDArray[np.float64]
IntervalBy = Literal["wilson", "bootstrap", "jackknife"]  # see `intervals`


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
        """The options and model hashes that decide the figure, as `key:value` joined by `|`; behind `||` what is only
        recorded, such as versions of packages and servers."""

    @property
    def interval_by(self) -> IntervalBy:
        """Which interval suits it: wilson for shares (0 or 100 an answer), jackknife for what repeated answers lower
        (distinct n-grams), bootstrap for all else."""

    @property
    def needs(self) -> str:
        """What a sample must have to count, in a few words."""

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        """Shape [answers]: which of them the figure is over."""

    def ready(self, answers: Sequence[Answer]) -> Value:
        """Prepare, once, what `answers` give; indices into them are what the value is asked for."""


def deciding(signature: str) -> str:
    """What must be the same for two figures to be comparable: a signature without what is only recorded."""
    return signature.partition("||")[0]


def ratio(numerators: Floats, denominators: Floats) -> Value:
    """The sum of `numerators` over the sum of `denominators`, one of each an answer: means, and rates by token."""

    def value(indices: Indices) -> float:
        under = float(denominators[indices].sum())
        return float(numerators[indices].sum()) / under if under else float("nan")

    return value
