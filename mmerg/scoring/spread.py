"""A figure over runs that differ in their seed alone: its mean and its standard deviation, where it may be averaged.

The standard deviation (with n − 1) says how much the sampler's luck moves a figure; the interval over samples, which
stands beside each run, says how much the choice of samples does. Neither holds the other.

    over([run.scores["acc"] for run in one_a_seed(runs, lambda run: run.seed)])
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import fmean, stdev
from typing import TypeVar

from mmerg.scoring.metric import deciding
from mmerg.scoring.score import Score
from mmerg.storage.record import Record

Run = TypeVar("Run")


class Spread(Record):
    """A figure over seeds: its mean and its standard deviation (with n − 1)."""

    mean: float
    sd: float


def one_a_seed(runs: Iterable[Run], seed: Callable[[Run], int]) -> list[Run]:
    """The first run of each seed: one that is there twice counts once."""
    found: dict[int, Run] = {}
    for run in runs:
        found.setdefault(seed(run), run)
    return list(found.values())


def over(scores: Sequence[Score | None]) -> Spread | None:
    """Over a score a seed; None unless all have a value, over as many samples and with one signature."""
    values = [score.value if score else None for score in scores]
    return spread_of(values, ((score.n, deciding(score.signature)) for score in scores if score))


def spread_of(values: Sequence[float | None], measured: Iterable[Hashable] = ()) -> Spread | None:
    """Over a value a seed, two at least; None unless all are there and `measured`, how each was had, are equal."""
    had = [value for value in values if value is not None]
    if not len(values) == len(had) > 1 or len(set(measured)) > 1:
        return None
    return Spread(mean=fmean(had), sd=stdev(had))
