"""95 % intervals. Samples of one dialogue are not independent, so whole dialogues are drawn or excluded.

wilson: for shares (Wilson 1927). If dialogues have several samples, n is the effective one, n over the design
effect (Dean and Pagano 2015), times (z/t)² with t of one degree of freedom less than dialogues (Korn and Graubard
1998). If fewer than 5 dialogues have the rarer outcome, their correlation is unknown, and n is the number of dialogues.
bootstrap: dialogues drawn with repetition (Efron and Tibshirani 1993), seeded.
- Metrics of sums, such as means and perplexity: studentized, the error of each draw from linearization (chapter 12).
- F1 and other metrics of counts: percentiles. Each draw adds pseudo-counts of Jeffreys' prior, Gamma(1/2), to the hits
  and errors of each label, except where they would move a count of 0 off its bound (as Brown, Cai and DasGupta 2001 do
  for one share). Without them, a rare label that is always missed would add no variance.
- All else: percentiles, expanded as t is wider than z (Hesterberg 2015, arXiv 1411.5279).
jackknife: estimate ± t standard errors, from omitting one dialogue, or one of 200 groups of them, at a time (Efron and
Stein 1981; for counts of kinds, Heltshe and Forrester 1983). For metrics over distinct n-grams: a dialogue that a
bootstrap draws twice adds no distinct ones, so every resample lies below the estimate.

With fewer than 10 dialogues, the last two cover the truth too seldom, so there is no interval.
`benchmarks/coverage.py` measures the coverage of all.

    compute_interval("bootstrap", value, dialogues, resamples=1000, seed=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import erfc, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from mmerg.scoring.metric import Counts, Floats, Indices, IntervalBy, Sums, Value

Z = 1.959963984540054  # the normal's 97.5 % point
GROUPS = 200  # for a jackknife
UNITS = 400  # for a bootstrap of sums: dialogues beyond are drawn in groups
FEWEST = 10  # dialogues for all but shares
RARE = 5  # dialogues with an outcome that are needed to estimate their correlation
ONE_DIALOGUE = "no interval: all samples are from one dialogue"
ROUNDING = 1e-9  # summation order changes sums by less


class Interval(NamedTuple):
    """ends: None if there is no interval; `why` gives the reason. method: how it was computed."""

    ends: tuple[float, float] | None
    method: str = ""
    why: str = ""


class Dialogues:
    """The dialogues of results. numbers: shape [results], the number of each result's dialogue, from 0, in the order of
    names."""

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
        """`value` as a function of dialogues instead of results. A dialogue that is drawn twice counts twice."""
        if isinstance(value, Sums):
            return value.by_group(self.numbers)

        def of(drawn: Indices) -> float:
            sizes = self._sizes[drawn]
            skipped = np.cumsum(sizes) - sizes
            return value(self._members[np.repeat(self._starts[drawn] - skipped, sizes) + np.arange(sizes.sum())])

        return of

    def effective_n(self, values: Floats) -> float:
        """The number of independent samples that would give the mean of `values` (one per result) as precisely. If
        dialogues do not differ, all results, times (z/t)²."""
        count, away = len(self), values - values.mean()
        variance = float(np.sum(np.bincount(self.numbers, away) ** 2)) * count / (count - 1) / len(values) ** 2
        independent = min(len(values), float(np.mean(away**2)) / variance) if variance else len(values)
        return independent * (Z / t_quantile(count - 1)) ** 2

    def rarest(self, right: Floats) -> int:
        """The number of dialogues with the rarer of two outcomes. right: shape [results], 0 or 1."""
        hits = np.bincount(self.numbers, right)
        return int(min(np.count_nonzero(hits), np.count_nonzero(self._sizes - hits)))

    def describe_n(self, effective: float) -> str:
        """Describes an effective n and the number of dialogues."""
        known = f"{effective:.1f}" if effective >= 1 else "under 1"
        return f"effective n {known} of {len(self)} dialogues{', too few to tell' * (effective < 1)}"


def compute_interval(
    by: IntervalBy | None, value: Value, names: Sequence[str] | Indices, *, resamples: int, seed: int
) -> Interval:
    """The interval of `value` over results; result i is from dialogue names[i]. It is widened if resampling bias or
    rounding would exclude the estimate."""
    if by is None:
        return Interval(None)
    dialogues = Dialogues(names)
    if by == "wilson" and len(dialogues) > 1:
        return _wilson(value, dialogues)
    estimate = value(dialogues.results)
    result, _ = resample(by, value, estimate, dialogues, draws=resamples, seed=seed)
    if by == "jackknife" and result.ends:  # shares in percent, though an expectation-adjusted one may exceed 100
        low, high = result.ends
        return result._replace(ends=(max(0.0, low), min(max(100.0, estimate), high)))
    return result


def resample(
    by: IntervalBy, value: Value, estimate: float, dialogues: Dialogues, *, draws: int, seed: int
) -> tuple[Interval, float]:
    """The interval by a bootstrap or a jackknife, and the standard error (0 without an interval)."""
    count = len(dialogues)
    if count < 2:
        return Interval(None, why=ONE_DIALOGUE), 0.0
    if count < FEWEST:
        return Interval(None, why=f"no interval: fewer than {FEWEST} dialogues"), 0.0
    method = f"bootstrap, {draws} draws of {count} dialogues, seed {seed}"
    if by == "jackknife":
        error = _jackknife(value, dialogues, seed)
        groups = min(count, GROUPS)
        low, high = estimate - t_quantile(groups - 1) * error, estimate + t_quantile(groups - 1) * error
        method = f"jackknife, {groups} groups of {count} dialogues" + f", seed {seed}" * (groups < count)
    elif isinstance(value, Sums):
        units = min(count, UNITS)
        sums = value.by_group(_grouped(count, UNITS, seed)[dialogues.numbers])
        if isinstance(value, Counts):
            low, high, error = _with_pseudo_counts(value, sums.parts, _drawn(units, draws, seed), seed)
            method = f"{method}, with pseudo-counts"
        else:
            low, high, error = _studentized(sums, _drawn(units, draws, seed))
            method = f"studentized {method}"
    else:
        draw, of = np.random.default_rng(seed), dialogues.valued(value)
        values = np.array([of(draw.integers(count, size=count)) for _ in range(draws)])
        outside = compute_tail(count)
        error, (low, high) = float(values.std()), map(float, np.quantile(values, [outside, 1 - outside]))
    if not (isfinite(low) and isfinite(high)):
        return Interval(None, why="no interval: too few dialogues differ"), 0.0
    if high - low <= ROUNDING:
        return Interval(None, why="no interval: it would have no width, every draw giving the same"), 0.0
    return Interval((min(low, estimate), max(high, estimate)), method), error


@lru_cache(maxsize=4)
def _drawn(count: int, draws: int, seed: int) -> Floats:
    """Shape [draws, count]: how often each draw has each dialogue."""
    places = np.random.default_rng(seed).integers(count, size=(draws, count)) + count * np.arange(draws)[:, None]
    return np.bincount(places.ravel(), minlength=draws * count).reshape(draws, count).astype(float)


def _studentized(sums: Sums, drawn: Floats) -> tuple[float, float, float]:
    """The ends by a studentized bootstrap, and the standard error. drawn: from `_drawn`."""
    weights = np.concatenate([np.ones((1, drawn.shape[1])), drawn])  # the data first
    totals = sums.parts @ weights.T
    steps = np.maximum(1e-6 * np.abs(sums.parts).sum(axis=1), 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = sums.finish(totals)
        shifts = [(at, np.eye(len(steps))[at][:, None] * step) for at, step in enumerate(steps)]
        slopes = np.array(
            [(sums.finish(totals + by) - sums.finish(totals - by)) / (2 * steps[at]) for at, by in shifts]
        )
        influence = slopes.T @ sums.parts
        variance = (weights * influence**2).sum(axis=1) - (weights * influence).sum(axis=1) ** 2 / drawn.shape[1]
        errors = np.sqrt(np.maximum(variance, 0))
        away = np.nan_to_num((values[1:] - values[0]) / errors[1:], nan=0.0, posinf=np.inf, neginf=-np.inf)
    low, high = np.quantile(away, [0.025, 0.975], method="inverted_cdf")
    error = float(errors[0])
    if error <= ROUNDING * max(1.0, abs(values[0])):
        return float(values[0]), float(values[0]), 0.0
    count = drawn.shape[1]
    return float(values[0] - error * high), float(values[0] - error * low), error * sqrt(count / (count - 1))


def _with_pseudo_counts(counts: Counts, parts: Floats, drawn: Floats, seed: int) -> tuple[float, float, float]:
    """The ends by percentiles over draws with pseudo-counts, and the standard error. parts: by dialogue; drawn: from
    `_drawn`."""
    labels, totals = counts.labels, parts @ drawn.T
    noise = np.zeros((counts.blocks, len(parts) // counts.blocks, len(drawn)))
    noise[:, : 2 * labels] = np.random.default_rng(seed).gamma(
        0.5, counts.unit, (counts.blocks, 2 * labels, len(drawn))
    )
    none = (parts.sum(axis=1) == 0).reshape(noise.shape[:2])
    below, above = noise.copy(), noise.copy()
    below[:, :labels][none[:, :labels]] = 0.0
    above[:, labels : 2 * labels][none[:, labels : 2 * labels]] = 0.0
    subtracted = np.arange(counts.blocks)[:, None, None] < counts.blocks // 2
    lower = counts.finish(totals + np.where(subtracted, above, below).reshape(totals.shape))
    upper = counts.finish(totals + np.where(subtracted, below, above).reshape(totals.shape))
    outside = compute_tail(drawn.shape[1])
    return float(np.quantile(lower, outside)), float(np.quantile(upper, 1 - outside)), float(upper.std())


def compute_tail(count: int) -> float:
    """The share of draws beyond either end of percentiles as wide as t's."""
    return erfc(t_quantile(count - 1) * sqrt(count / (count - 1)) / sqrt(2)) / 2


def wilson(share: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a share (0 to 1) of n: 26 of 31 gives 0.674 and 0.929."""
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def _wilson(value: Value, dialogues: Dialogues) -> Interval:
    right = evaluate_each(value, len(dialogues.results)) / 100
    n, method, share = float(len(right)), "wilson", float(right.mean())
    if len(dialogues) < n:
        n = dialogues.effective_n(right)
        if dialogues.rarest(right) < RARE:
            n = min(n, len(dialogues))
        method = f"wilson, {dialogues.describe_n(n)}"
    low, high = wilson(share, n)
    return Interval((100 * min(low, share), 100 * max(high, share)), method)


def evaluate_each(value: Value, n: int) -> Floats:
    """Shape [n]: the value of each result by itself."""
    if isinstance(value, Sums):
        return value.finish(value.parts)
    return np.array([value(np.array([index])) for index in range(n)])


def t_quantile(freedom: float) -> float:
    """The 97.5 % point of t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def _jackknife(value: Value, dialogues: Dialogues, seed: int) -> float:
    """The standard error from leaving out one of at most `GROUPS` groups of dialogues at a time. Groups of several
    dialogues are drawn at random."""
    group = _grouped(len(dialogues), GROUPS, seed)
    groups = min(len(dialogues), GROUPS)
    of = dialogues.valued(value)
    values = np.array([of(np.flatnonzero(group != left_out)) for left_out in range(groups)])
    return float(np.sqrt((groups - 1) / groups * np.sum((values - values.mean()) ** 2)))


def _grouped(count: int, most: int, seed: int) -> Indices:
    """Shape [count]: the group of each dialogue: a group per dialogue up to `most`, else drawn."""
    group = np.arange(count) % most
    return np.random.default_rng(seed).permutation(group) if count > most else group
