"""What a metric is: made ready once over results, then a value for any of them, any number of times each.

The same few numpy operations then serve the figure itself, a bootstrap (dialogues drawn with repetition), and paired
tests (two runs' results in one list, exchanged pairwise).

    kept = list(itertools.compress(run.answers, metric.counted(run.answers)))
    value = metric.ready(kept)
    value(np.arange(len(kept)))    # the figure
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
    counted: shape [results], which of them the figure is over. ready: prepares, once, what results that count give;
    indices into them are what the value is asked for. interval_by: wilson for shares (0 or 100 a result), jackknife for
    what repeated results lower (distinct n-grams), bootstrap for all else. higher_is_better: None for what describes
    and does not judge.
    """

    name: str
    signature: str
    needs: str
    counted: Callable[[Sequence[Result]], Mask]
    ready: Callable[[Sequence[Result]], Value]
    interval_by: IntervalBy = "bootstrap"
    higher_is_better: bool | None = None


@dataclass(frozen=True)
class Ratio:
    """A value: the sum of numerators over the sum of denominators, one of each a result, and what `then` makes of it.
    Means, and rates by token."""

    numerators: Floats
    denominators: Floats
    then: Callable[[float], float] = float

    def __call__(self, indices: Indices) -> float:
        under = float(self.denominators[indices].sum())
        return self.then(float(self.numerators[indices].sum()) / under) if under else float("nan")


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
    """Σ of over Σ per, one of each a result: a mean over the results of which `per` is 1. One with 0 does not count."""
    return Metric(
        name=name,
        signature=signature,
        needs=needs,
        counted=lambda results: np.array([per(result) > 0 for result in results], bool),
        ready=lambda results: Ratio(_each(of, results), _each(per, results), then),
        interval_by=interval_by,
        higher_is_better=higher_is_better,
    )


def _each(of: Of, results: Sequence[Result]) -> Floats:
    return np.array([of(result) for result in results], float)


def deciding(signature: str) -> str:
    """What must be the same for two figures to be comparable: a signature without what is only recorded."""
    return signature.partition("||")[0]
