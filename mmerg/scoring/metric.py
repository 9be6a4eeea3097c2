"""The interface of metrics.

A metric is prepared once for a list of results, and then gives the value of any selection of them, which may contain a
result several times: all results, a bootstrap draw, or the results of two runs with some exchanged.

    kept = list(itertools.compress(run.results, metric.mask(run.results)))
    value = metric.prepare(kept)
    value(np.arange(len(kept)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mmerg.runs.result import Result

Indices: TypeAlias = NDArray[np.intp]
Value: TypeAlias = Callable[[Indices], float]  # NaN if no result counts
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
PerResult: TypeAlias = Callable[[Result], float]
Finish: TypeAlias = Callable[[Floats], Floats]
IntervalBy = Literal["wilson", "bootstrap", "jackknife"]  # see `intervals`
MIN_DIALOGUES = 10  # for all intervals but those of shares


@dataclass(frozen=True)
class Metric:
    """A named metric over results.

    Attributes:
        name: the name in commands and files.
        signature: the options and model hashes that decide the value, as `key:value` joined by `|`. What follows `||`
            is only recorded, such as versions of packages and servers.
        needs: what a sample must have to count, in a few words.
        mask: maps results to shape [results], True for those that count.
        prepare: takes the results that count. Returns a function that gives the value for any indices into them.
        interval_by: "wilson" for shares (0 or 100 per result), "jackknife" for values that repeated results lower
            (distinct n-grams), "bootstrap" for all others, None for costs.
        higher_is_better: None if the metric describes without judging.
    """

    name: str
    signature: str
    needs: str
    mask: Callable[[Sequence[Result]], Mask]
    prepare: Callable[[Sequence[Result]], Value]
    interval_by: IntervalBy | None = "bootstrap"
    higher_is_better: bool | None = None


@dataclass(frozen=True)
class Sums:
    """A value that is a function of sums over results, such as a mean or a rate."""

    parts: Floats  # shape [k, results], the terms of k sums
    finish: Finish  # maps sums of shape [k, …] to values of shape […], for all draws of a bootstrap in one call
    low: float = -inf  # the least possible value
    high: float = inf  # the greatest
    fewest: int = MIN_DIALOGUES  # that an interval needs

    def __call__(self, indices: Indices) -> float:
        return float(self.finish(self.parts.take(indices, axis=1).sum(axis=1)))

    def by_group(self, groups: Indices) -> Self:
        """Returns the same value over groups instead of results. groups: shape [results], numbers from 0."""
        return replace(self, parts=np.array([np.bincount(groups, part) for part in self.parts]))


@dataclass(frozen=True)
class Counts(Sums):
    """Sums of counts: the first `labels` rows count the hits of each label, the next `labels` rows the errors."""

    labels: int = 1
    unit: float = 1.0  # the average count of a result
    blocks: int = 1  # of rows; a difference of runs has two, of which the first is subtracted


def _identity(values: Floats) -> Floats:
    return values


def ratio(numerators: ArrayLike, denominators: ArrayLike, finish: Finish = _identity) -> Sums:
    """Divides the sum of numerators by the sum of denominators (one of each per result), transformed by `finish`.
    Without negative numerators, the value is at least finish(0)."""

    def divide(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return finish(sums[0] / sums[1])

    low = float(finish(np.array(0.0))) if np.min(numerators, initial=0.0) >= 0 else -inf
    return Sums(np.array([numerators, denominators], float), divide, low)


def pooled_percentage(hits: ArrayLike, totals: ArrayLike) -> Counts:
    """Divides the sum of hits by the sum of totals (one of each per result), ×100."""
    counts = np.array([hits, np.subtract(totals, hits)], float)
    return Counts(counts, lambda sums: 100 * sums[0] / (sums[0] + sums[1]), unit=float(counts.sum(0).mean()))


def mean(values: ArrayLike) -> Sums:
    return ratio(values, np.ones(len(np.asarray(values))))


def every(_: Result) -> float:
    return 1.0


def ok(result: Result) -> float:
    return float(result.ok)


def rate(
    name: str,
    signature: str,
    needs: str,
    value: PerResult,
    weight: PerResult = every,
    *,
    interval_by: IntervalBy | None = "bootstrap",
    higher_is_better: bool | None = None,
    finish: Finish = _identity,
    pooled: bool = False,
) -> Metric:
    """Makes the metric Σ value / Σ weight over results, which is their mean if the weights are 1. A result with weight
    0 does not count.

    finish: a transformation of the ratio, such as exp. pooled: for results with several units each (such as n-grams),
    of which `weight` is the number, and `value` the number of hits. The metric is then 100 · Σ value / Σ weight."""

    def prepare(results: Sequence[Result]) -> Value:
        values, weights = list(map(value, results)), list(map(weight, results))
        return pooled_percentage(values, weights) if pooled else ratio(values, weights, finish)

    return Metric(
        name=name,
        signature=signature,
        needs=needs,
        mask=lambda results: np.array([weight(result) > 0 for result in results], bool),
        prepare=prepare,
        interval_by=interval_by,
        higher_is_better=higher_is_better,
    )


def drop_recorded(signature: str) -> str:
    """Returns the part of a signature that comparable values share: all of it but what is only recorded."""
    return signature.partition("||")[0]
