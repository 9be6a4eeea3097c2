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
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mmerg.runs.result import Result

Indices: TypeAlias = NDArray[np.intp]
Value: TypeAlias = Callable[[Indices], float]  # NaN where none of the results counts
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Of: TypeAlias = Callable[[Result], float]
Then: TypeAlias = Callable[[Floats], Floats]
IntervalBy = Literal["wilson", "bootstrap", "jackknife"]  # see `intervals`


@dataclass(frozen=True)
class Metric:
    """A named figure over results.

    signature: the options and model hashes that decide the figure, as `key:value` joined by `|`; behind `||` what is
    only recorded, such as versions of packages and servers. needs: what a sample must have to count, in a few words.
    counted: shape [results], which of them the figure is over. ready: prepares the results that count; the value is
    asked for by indices into them. interval_by: wilson for shares (0 or 100 a result), jackknife for what repeated
    results lower (distinct n-grams), bootstrap for all else, None for costs and other figures whose interval says
    nothing. higher_is_better: None for what describes and does not judge. missing: what is not installed, so that no
    result counts.
    """

    name: str
    signature: str
    needs: str
    counted: Callable[[Sequence[Result]], Mask]
    ready: Callable[[Sequence[Result]], Value]
    interval_by: IntervalBy | None = "bootstrap"
    higher_is_better: bool | None = None
    missing: str = ""

    @property
    def why_none(self) -> str:
        """Why there is no figure where no result counts."""
        return f"{self.missing} is not installed" if self.missing else f"no sample has {self.needs}"


@dataclass(frozen=True)
class Sums:
    """A value that follows from sums, as means and rates do. parts: shape [k, results]; then: the values of sums of
    shape [k, …], shape […]: all draws of a bootstrap are one call."""

    parts: Floats
    then: Then

    def __call__(self, indices: Indices) -> float:
        return float(self.then(self.parts.take(indices, axis=1).sum(axis=1)))

    def by_group(self, groups: Indices) -> Self:
        """The same with groups in place of results. groups: shape [results], the number of each result's group."""
        return replace(self, parts=np.array([np.bincount(groups, part) for part in self.parts]))


@dataclass(frozen=True)
class Counts(Sums):
    """Sums that begin with counts of hits, a row for each of so many labels, and then of errors. unit: what a result
    counts on average. blocks: how often such rows follow each other; of a difference, the first half is taken off."""

    labels: int = 1
    unit: float = 1.0
    blocks: int = 1


def _same(values: Floats) -> Floats:
    return values


def ratio(numerators: ArrayLike, denominators: ArrayLike, then: Then = _same) -> Sums:
    """The sum of numerators over the sum of denominators, of which each result has one, passed through `then`."""

    def divide(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return then(sums[0] / sums[1])

    return Sums(np.array([numerators, denominators], float), divide)


def pooled(hits: ArrayLike, totals: ArrayLike) -> Counts:
    """The sum of hits over the sum of totals, of which each result has one, ×100."""
    counts = np.array([hits, np.subtract(totals, hits)], float)
    return Counts(counts, lambda sums: 100 * sums[0] / (sums[0] + sums[1]), unit=float(counts.sum(0).mean()))


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
    interval_by: IntervalBy | None = "bootstrap",
    higher_is_better: bool | None = None,
    then: Then = _same,
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


def pooled_share(name: str, signature: str, needs: str, of: Of, per: Of) -> Metric:
    """Σ of / Σ per over the results, ×100, of what each has several. A result with a `per` of 0 does not count."""
    whole = rate(name, signature, needs, of, per)
    return replace(whole, ready=lambda results: pooled([of(one) for one in results], [per(one) for one in results]))


def deciding(signature: str) -> str:
    """What must be the same for two figures to be comparable: a signature without what is only recorded."""
    return signature.partition("||")[0]
