"""95 % intervals. Samples of one dialogue are not independent, so what is drawn or left out is always a dialogue.

wilson: for shares (Wilson 1927). Where dialogues have several samples, n is the effective one, n over the design
effect (Dean and Pagano 2015), times (z/t)² with t of one degree of freedom less than dialogues (Korn and Graubard
1998).
bootstrap: percentiles over dialogues drawn with repetition (Efron and Tibshirani 1993, chapters 8 and 13), seeded, and
expanded as t is wider than z, since few dialogues give too narrow ones (Hesterberg 2015, arXiv 1411.5279).
jackknife: estimate ± 1.96 standard errors, from leaving out one dialogue, or one of 200 groups of them, at a time
(Efron and Stein 1981; for counts of kinds, Heltshe and Forrester 1983). For figures over distinct n-grams: a dialogue
that a bootstrap draws twice adds no distinct ones, so every resample lies below the estimate. Under 10 dialogues it
holds the truth too seldom (34 % of times with 3, 71 % with 5), so there is none.

    interval("bootstrap", value, dialogues, resamples=1000, seed=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from mmerg.scoring.metric import Floats, Indices, IntervalBy, Sums, Value

Z = 1.959963984540054  # the normal's 97.5 % point
GROUPS = 200
FEWEST = 10  # dialogues for a jackknife
ONE_DIALOGUE = "no interval: all is from one dialogue"
ROUNDING = 1e-9  # sums in another order differ by less


class Interval(NamedTuple):
    """Its ends, or None and `why`; `method` says how it was computed."""

    ends: tuple[float, float] | None
    method: str = ""
    why: str = ""


class Dialogues:
    """Which results are of which dialogue. numbers: shape [results], the number of each result's dialogue, from 0, in
    the order of names."""

    def __init__(self, names: Sequence[str] | Indices) -> None:
        kind = None if isinstance(names, np.ndarray) else object
        self.numbers: Indices = np.unique(np.array(names, kind), return_inverse=True)[1]
        self.results = np.arange(len(self.numbers))
        self._sizes = np.bincount(self.numbers)
        self._members = np.argsort(self.numbers, kind="stable")
        self._starts = np.cumsum(self._sizes) - self._sizes

    def __len__(self) -> int:
        return len(self._sizes)

    def valued(self, value: Value) -> Value:
        """`value` as a function of dialogues in place of results. A dialogue that is drawn twice counts twice."""
        if isinstance(value, Sums):
            return value.by_group(self.numbers)

        def of(drawn: Indices) -> float:
            sizes = self._sizes[drawn]
            skipped = np.cumsum(sizes) - sizes
            return value(self._members[np.repeat(self._starts[drawn] - skipped, sizes) + np.arange(sizes.sum())])

        return of

    def effective_n(self, values: Floats) -> float:
        """How many independent samples would give the mean of `values` (one a result) as precisely. Where dialogues do
        not differ these are all results, times (z/t)²."""
        count, away = len(self), values - values.mean()
        variance = float(np.sum(np.bincount(self.numbers, away) ** 2)) * count / (count - 1) / len(values) ** 2
        independent = min(len(values), float(np.mean(away**2)) / variance) if variance else len(values)
        return independent * (Z / _student(count)) ** 2

    def describe_n(self, effective: float) -> str:
        """An effective n, with the number of dialogues."""
        known = f"{effective:.1f}" if effective >= 1 else "under 1"
        return f"effective n {known} of {len(self)} dialogues{', too few to tell' * (effective < 1)}"


def interval(by: IntervalBy, value: Value, names: Sequence[str] | Indices, *, resamples: int, seed: int) -> Interval:
    """The interval of `value` over results; result i is from dialogue names[i]. It is widened where bias of resampling,
    or rounding, would leave the estimate outside."""
    dialogues = Dialogues(names)
    if by == "wilson" and len(dialogues) > 1:
        return _wilson(value, dialogues)
    estimate = value(dialogues.results)
    result, _ = resampled(by, value, estimate, dialogues, draws=resamples, seed=seed)
    if by == "jackknife" and result.ends:  # shares in percent, though an expectation-adjusted one may be over 100
        low, high = result.ends
        return result._replace(ends=(max(0.0, low), min(max(100.0, estimate), high)))
    return result


def resampled(
    by: IntervalBy, value: Value, estimate: float, dialogues: Dialogues, *, draws: int, seed: int
) -> tuple[Interval, float]:
    """The interval by a bootstrap or a jackknife, and the standard error, 0 where there is no interval."""
    count = len(dialogues)
    if count < 2:
        return Interval(None, why=ONE_DIALOGUE), 0.0
    if by == "jackknife":
        if count < FEWEST:
            return Interval(None, why=f"no interval: a jackknife of fewer than {FEWEST} dialogues misleads"), 0.0
        error = _jackknife(value, dialogues, seed)
        low, high = estimate - Z * error, estimate + Z * error
        groups = min(count, GROUPS)
        method = f"jackknife, {groups} groups of {count} dialogues" + f", seed {seed}" * (groups < count)
    else:
        draw, of = np.random.default_rng(seed), dialogues.valued(value)
        values = np.array([of(draw.integers(count, size=count)) for _ in range(draws)])
        outside = erfc(_student(count) * sqrt(count / (count - 1)) / sqrt(2)) / 2
        error, (low, high) = float(values.std()), map(float, np.quantile(values, [outside, 1 - outside]))
        method = f"bootstrap, {draws} draws of {count} dialogues, seed {seed}"
    if not (isfinite(low) and isfinite(high)):
        return Interval(None, why="no interval: it has no end"), 0.0
    if high - low <= ROUNDING:
        return Interval(None, why="no interval: it would have no width, every draw giving the same"), 0.0
    return Interval((min(low, estimate), max(high, estimate)), method), error


def wilson(share: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a share (0 to 1) of n: 26 of 31 gives 0.674 and 0.929."""
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def _wilson(value: Value, dialogues: Dialogues) -> Interval:
    right = each(value, len(dialogues.results)) / 100
    n, method = float(len(right)), "wilson"
    if len(dialogues) < n:
        n = dialogues.effective_n(right)
        method = f"wilson, {dialogues.describe_n(n)}"
    share = float(right.mean())
    low, high = wilson(share, n)
    return Interval((100 * min(low, share), 100 * max(high, share)), method)


def each(value: Value, n: int) -> Floats:
    """Shape [n]: the value of each result by itself."""
    if isinstance(value, Sums):
        return np.array([value.then(part) for part in value.parts.T])
    return np.array([value(np.array([index])) for index in range(n)])


def _student(count: int) -> float:
    """The 97.5 % point of t for so many dialogues."""
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 0.975))


def _jackknife(value: Value, dialogues: Dialogues, seed: int) -> float:
    """The standard error of leaving out one of at most `GROUPS` groups of dialogues at a time; groups are drawn where
    they hold several."""
    count = len(dialogues)
    groups = min(count, GROUPS)
    group = np.arange(count) % groups
    if groups < count:
        group = np.random.default_rng(seed).permutation(group)
    of = dialogues.valued(value)
    values = np.array([of(np.flatnonzero(group != left_out)) for left_out in range(groups)])
    return float(np.sqrt((groups - 1) / groups * np.sum((values - values.mean()) ** 2)))
