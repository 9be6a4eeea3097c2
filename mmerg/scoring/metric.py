"""What a metric is. It is prepared once for a list of results, and then gives a value for any selection of them, in
which a result may stand several times.

The same few numpy operations then serve the figure itself, a bootstrap (dialogues drawn with repetition), and paired
tests (two runs' results in one list, exchanged pairwise).

    kept = list(itertools.compress(run.answers, metric.counted(run.answers)))
    value = metric.ready(kept)
    value(np.arange(len(kept)))    # the figure
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mmerg.runs.result import Result

Indices: TypeAlias = NDArray[np.intp]
Value: TypeAlias = Callable[[Indices], float]  # NaN where none of the results counts
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Of: TypeAlias = Callable[[Result], float]
IntervalBy = Literal["wilson", "bootstrap", "jackknife"]  # see `intervals`


@dataclass(frozen=True)
class Metric:
    """A named figure over results.

    signature: the options and model hashes that decide the figure, as `key:value` joined by `|`; behind `||` what is
    only recorded, such as versions of packages and servers. needs: what a sample must have to count, in a few words.
    counted: shape [results], which of them the figure is over. ready: prepares the results that count; the value is
    asked for by indices into them. interval_by: wilson for shares (0 or 100 a result), jackknife for what repeated
    results lower (distinct n-grams), bootstrap for all else. higher_is_better: None for what describes and does not
    judge.
    """

    name: str
    signature: str
    needs: str
    counted: Callable[[Sequence[Result]], Mask]
    ready: Callable[[Sequence[Result]], Value]
    interval_by: IntervalBy = "bootstrap"
    higher_is_better: bool | None = None


@dataclass(frozen=True)
class Sums:
    """A value that follows from sums, as means and rates do. parts: shape [k, results]; then: gives the value for their
    k sums."""

    parts: Floats
    then: Callable[[Floats], float]

    def __call__(self, indices: Indices) -> float:
        return self.then(self.parts.take(indices, axis=1).sum(axis=1))

    def by_group(self, groups: Indices) -> Sums:
        """The same with groups in place of results. groups: shape [results], the number of each result's group."""
        return Sums(np.array([np.bincount(groups, part) for part in self.parts]), self.then)


def ratio(numerators: ArrayLike, denominators: ArrayLike, then: Callable[[float], float] = float) -> Sums:
    """The sum of numerators over the sum of denominators, of which each result has one, passed through `then`."""
    return Sums(
        np.array([numerators, denominators], float),
        lambda sums: then(float(sums[0]) / float(sums[1])) if sums[1] else float("nan"),
    )


def mean(values: Sequence[float] | Floats) -> Sums:
    """The mean of a value a result."""
    return ratio(values, np.ones(len(values)))


def one(_: Result) -> float:
    """Every result counts."""
    return 1.0


def ok(result: Result) -> float:
    """Every result counts that did not fail."""
    return float(result.ok)


def rate(
    name: str,
    signature: str,
    needs: str,
    of: Of,
    per: Of = one,
    *,
    interval_by: IntervalBy = "bootstrap",
    higher_is_better: bool | None = None,
    then: Callable[[float], float] = float,
) -> Metric:
    """Σ of / Σ per over the results: their mean, where `per` is 1. A result with a `per` of 0 does not count."""
    return Metric(
        name=name,
        signature=signature,
        needs=needs,
        counted=lambda results: np.array([per(result) > 0 for result in results], bool),
        ready=lambda results: ratio([of(result) for result in results], [per(result) for result in results], then),
        interval_by=interval_by,
        higher_is_better=higher_is_better,
    )


def deciding(signature: str) -> str:
    """What must be the same for two figures to be comparable: a signature without what is only recorded."""
    return signature.partition("||")[0]
