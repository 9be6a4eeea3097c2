"""The interface of metrics. A metric is prepared once for a list of results, and then gives the value of any selection
of them, with repeats: of all, of a bootstrap's draw, or of two runs' results with some exchanged.

    kept = list(itertools.compress(run.results, metric.mask(run.results)))
    value = metric.prepare(kept)
    value(np.arange(len(kept)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Metric:
    """A named metric over results.

    signature: the options and model hashes that decide the value, as `key:value` joined by `|`; behind `||` what is
    only recorded, such as versions of packages and servers. needs: what a sample must have to count, in a few words.
    mask: shape [results], which of them count. prepare: takes the results that count, and gives the value of any
    indices into them. interval_by: wilson for shares (0 or 100 a result), jackknife for what repeated results lower
    (distinct n-grams), bootstrap for all else, None for costs. higher_is_better: None if the metric describes and does
    not judge. missing: a package that is not installed, so that no result counts.
    """

    name: str
    signature: str
    needs: str
    mask: Callable[[Sequence[Result]], Mask]
    prepare: Callable[[Sequence[Result]], Value]
    interval_by: IntervalBy | None = "bootstrap"
    higher_is_better: bool | None = None
    missing: str = ""

    @property
    def why_none(self) -> str:
        """The reason for no value if no result counts."""
        return f"{self.missing} is not installed" if self.missing else f"no sample has {self.needs}"


@dataclass(frozen=True)
class Sums:
    """A value that is a function of sums, such as means and rates. parts: shape [k, results]; finish: maps sums of
    shape [k, …] to values of shape […]; all draws of a bootstrap are one call."""

    parts: Floats
    finish: Finish

    def __call__(self, indices: Indices) -> float:
        return float(self.finish(self.parts.take(indices, axis=1).sum(axis=1)))

    def by_group(self, groups: Indices) -> Self:
        """The same with groups instead of results. groups: shape [results], the number of each result's group."""
        return replace(self, parts=np.array([np.bincount(groups, part) for part in self.parts]))


@dataclass(frozen=True)
class Counts(Sums):
    """Sums that begin with counts of hits, a row per label, followed by counts of errors. unit: the average count of a
    result. blocks: how often such rows repeat; of a difference, the first half is subtracted."""

    labels: int = 1
    unit: float = 1.0
    blocks: int = 1


def _identity(values: Floats) -> Floats:
    return values


def ratio(numerators: ArrayLike, denominators: ArrayLike, finish: Finish = _identity) -> Sums:
    """The sum of numerators over the sum of denominators, one each per result, passed through `finish`."""

    def divide(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return finish(sums[0] / sums[1])

    return Sums(np.array([numerators, denominators], float), divide)


def pooled_percentage(hits: ArrayLike, totals: ArrayLike) -> Counts:
    """The sum of hits over the sum of totals, one each per result, ×100."""
    counts = np.array([hits, np.subtract(totals, hits)], float)
    return Counts(counts, lambda sums: 100 * sums[0] / (sums[0] + sums[1]), unit=float(counts.sum(0).mean()))


def mean(values: ArrayLike) -> Sums:
    """The mean of one value per result."""
    return ratio(values, np.ones(len(np.asarray(values))))


def every(_: Result) -> float:
    """Every result counts."""
    return 1.0


def ok(result: Result) -> float:
    """Every result counts that did not fail."""
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
) -> Metric:
    """Σ value / Σ weight over the results: their mean if `weight` is 1. A result with weight 0 does not count."""
    return Metric(
        name=name,
        signature=signature,
        needs=needs,
        mask=lambda results: np.array([weight(result) > 0 for result in results], bool),
        prepare=lambda results: ratio(list(map(value, results)), list(map(weight, results)), finish),
        interval_by=interval_by,
        higher_is_better=higher_is_better,
    )


def pooled_share(name: str, signature: str, needs: str, value: PerResult, weight: PerResult) -> Metric:
    """Σ value / Σ weight over the results, ×100, for values with several units per result. A result with weight 0 does
    not count."""
    whole = rate(name, signature, needs, value, weight)
    return replace(
        whole, prepare=lambda results: pooled_percentage(list(map(value, results)), list(map(weight, results)))
    )


def drop_recorded(signature: str) -> str:
    """The part of a signature that comparable values share: all but what is only recorded."""
    return signature.partition("||")[0]
