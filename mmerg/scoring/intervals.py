"""95 % intervals. Samples of one dialogue are not independent, so methods draw or omit whole dialogues.

wilson, for shares (Wilson 1927): if dialogues have several samples, n is the effective n. This is n over the design
effect (Dean and Pagano 2015), times (z/t)², where t has one degree of freedom less than there are dialogues (Korn and
Graubard 1998). If fewer than 5 dialogues have the rarer outcome, the correlation within dialogues is unknown, and n is
at most the number of dialogues.

bootstrap: dialogues are drawn with replacement from a seed (Efron and Tibshirani 1993).
- Metrics of sums, such as means and perplexity: studentized; linearization gives the error of each draw (chapter 12).
- F1 and other metrics of counts: percentiles. Each draw adds pseudo-counts of Jeffreys' prior, Gamma(1/2), to the hits
  and errors of each label, unless they would move a count of 0 off its bound (as Brown, Cai and DasGupta 2001 do for
  one share). Without pseudo-counts, a rare label that is always missed would add no variance.
- All others: percentiles, expanded as much as t is wider than z (Hesterberg 2015, arXiv 1411.5279).

jackknife, for metrics over distinct n-grams: estimate ± t standard errors, from omitting one dialogue, or one of 400
groups of dialogues, at a time (Efron and Stein 1981; for counts of kinds, Heltshe and Forrester 1983). A bootstrap does
not suit these metrics: a dialogue that is drawn twice adds no distinct n-grams, so every draw lies below the estimate.

With fewer than 10 dialogues, the bootstrap and the jackknife cover the truth too seldom, so there is no interval; BLEU
needs 100. No interval exceeds the least or greatest possible value.
`benchmarks/coverage.py` measures the coverage of all methods.

    compute_interval("bootstrap", value, dialogues, resamples=1000, seed=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import erfc, inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from mmerg.scoring.metric import MIN_DIALOGUES, Counts, Floats, Indices, IntervalBy, Sums, Value

Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution
MAX_UNITS = 400  # more dialogues than these are drawn or omitted in groups
MIN_RARE = 5  # dialogues with the rarer outcome: fewer do not show the correlation within dialogues
ONE_DIALOGUE = "no interval: all samples are from one dialogue"
ROUNDING = 1e-9  # the order of summation changes sums by less


class Interval(NamedTuple):
    """An interval, if there is one."""

    ends: tuple[float, float] | None  # None if there is no interval; then `why` gives the reason
    method: str = ""  # how it was computed
    why: str = ""


class Dialogues:
    """The dialogues of results. names: the dialogue of each result. numbers: shape [results], the number of each
    result's dialogue, from 0, in the order of names. results: the indices of all results."""

    def __init__(self, names: Sequence[str] | Indices) -> None:
        self.numbers: Indices = np.unique(np.array(names), return_inverse=True)[1]
        self.results = np.arange(len(self.numbers))
        self._sizes = np.bincount(self.numbers)

    def __len__(self) -> int:
        return len(self._sizes)

    def effective_n(self, values: Floats) -> float:
        """Returns the number of independent samples that would give the mean of `values`, shape [results], with the
        same precision, times (z/t)². If dialogues do not differ, all results count as independent."""
        count, deviations = len(self), values - values.mean()
        variance = float(np.sum(np.bincount(self.numbers, deviations) ** 2)) * count / (count - 1) / len(values) ** 2
        independent = min(len(values), float(np.mean(deviations**2)) / variance) if variance else len(values)
        return independent * (Z / t_quantile(count - 1)) ** 2

    def count_rarer(self, right: Floats) -> int:
        """Counts the dialogues that have the rarer of two outcomes. right: shape [results], 0 or 1."""
        hits = np.bincount(self.numbers, right)
        return int(min(np.count_nonzero(hits), np.count_nonzero(self._sizes - hits)))

    def describe_n(self, effective: float) -> str:
        return f"effective n {effective:.1f} of {len(self)} dialogues"


def compute_interval(
    by: IntervalBy | None, value: Value, names: Sequence[str] | Indices, *, resamples: int, seed: int
) -> Interval:
    """Computes the interval of a value over all results, widened if resampling bias or rounding would exclude the
    estimate.

    by: the method; None for a metric without interval. names: the dialogue of each result. resamples: the number of
    bootstrap draws. seed: of draws and groups.
    """
    if by is None:
        return Interval(None)
    dialogues = Dialogues(names)
    if by == "wilson" and len(dialogues) > 1:
        return _compute_wilson(value, dialogues)
    estimate = value(dialogues.results)
    result, _ = resample(by, value, estimate, dialogues, draws=resamples, seed=seed)
    if not result.ends:
        return result
    if isinstance(value, Sums):
        least, greatest = value.low, value.high
    else:  # percentages, of which an expectation-adjusted one may exceed 100
        least, greatest = (0.0, 100.0) if by == "jackknife" else (-inf, inf)
    low, high = result.ends
    return result._replace(ends=(max(min(least, estimate), low), min(max(greatest, estimate), high)))


def resample(
    by: IntervalBy, value: Value, estimate: float, dialogues: Dialogues, *, draws: int, seed: int
) -> tuple[Interval, float]:
    """Returns the interval by a bootstrap or a jackknife, and the standard error (0 if it is unknown). estimate: the
    value of all results."""
    count, fewest = len(dialogues), value.fewest if isinstance(value, Sums) else MIN_DIALOGUES
    if count < 2:
        return Interval(None, why=ONE_DIALOGUE), 0.0
    units = min(count, MAX_UNITS)
    unit = _assign_units(count, seed)[dialogues.numbers]  # of each result
    method = f"bootstrap, {draws} draws of {count} dialogues, seed {seed}"
    if by == "jackknife":
        values = np.array([value(np.flatnonzero(unit != omitted)) for omitted in range(units)])
        error = float(np.sqrt((units - 1) / units * np.sum((values - values.mean()) ** 2)))
        half_width = t_quantile(units - 1) * error
        low, high = estimate - half_width, estimate + half_width
        method = f"jackknife, {units} groups of {count} dialogues" + (f", seed {seed}" if units < count else "")
    elif isinstance(value, Counts):
        drawn = _draw_units(units, draws, seed)
        low, high, error = _bootstrap_with_pseudo_counts(value, value.by_group(unit).parts, drawn, seed)
        method = f"{method}, with pseudo-counts"
    elif isinstance(value, Sums):
        low, high, error = _bootstrap_studentized(value.by_group(unit), _draw_units(units, draws, seed))
        method = f"studentized {method}"
    else:
        members = [np.flatnonzero(unit == number) for number in range(units)]
        drawn_units = np.random.default_rng(seed).integers(units, size=(draws, units))
        values = np.array([value(np.concatenate([members[number] for number in drawn])) for drawn in drawn_units])
        tail = compute_tail(units)
        error, (low, high) = float(values.std()), map(float, np.quantile(values, [tail, 1 - tail]))
    if count < fewest:
        return Interval(None, why=f"no interval: fewer than {fewest} dialogues"), error
    if not (isfinite(low) and isfinite(high)):
        return Interval(None, why="no interval: too few dialogues differ"), 0.0
    if high - low <= ROUNDING:
        return Interval(None, why="no interval: it would have no width, every draw giving the same"), 0.0
    return Interval((min(low, estimate), max(high, estimate)), method), error


def _assign_units(count: int, seed: int) -> Indices:
    """Returns shape [count]: the unit of each dialogue. More than MAX_UNITS dialogues are distributed at random."""
    unit = np.arange(count) % MAX_UNITS
    return np.random.default_rng(seed).permutation(unit) if count > MAX_UNITS else unit


@lru_cache(maxsize=4)
def _draw_units(count: int, draws: int, seed: int) -> Floats:
    """Returns shape [draws, count]: how often each draw contains each unit (a dialogue, or a group of dialogues)."""
    places = np.random.default_rng(seed).integers(count, size=(draws, count)) + count * np.arange(draws)[:, None]
    return np.bincount(places.ravel(), minlength=draws * count).reshape(draws, count).astype(float)


def _bootstrap_studentized(sums: Sums, drawn: Floats) -> tuple[float, float, float]:
    """Returns the ends of a studentized bootstrap, and the standard error. sums: by unit. drawn: from `_draw_units`."""
    weights = np.concatenate([np.ones((1, drawn.shape[1])), drawn])  # row 0 is the data itself
    totals = sums.parts @ weights.T
    steps = np.maximum(1e-6 * np.abs(sums.parts).sum(axis=1), 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = sums.finish(totals)
        shifts = np.diag(steps)[:, :, None]  # a step of one sum at a time
        slopes = np.array(
            [
                (sums.finish(totals + shift) - sums.finish(totals - shift)) / (2 * step)
                for shift, step in zip(shifts, steps, strict=True)
            ]
        )
        influence = slopes.T @ sums.parts
        variance = (weights * influence**2).sum(axis=1) - (weights * influence).sum(axis=1) ** 2 / drawn.shape[1]
        errors = np.sqrt(np.maximum(variance, 0))
        t_values = np.nan_to_num((values[1:] - values[0]) / errors[1:], nan=0.0, posinf=np.inf, neginf=-np.inf)
    low, high = np.quantile(t_values, [0.025, 0.975], method="inverted_cdf")
    error = float(errors[0])
    if error <= ROUNDING * max(1.0, abs(values[0])):
        return float(values[0]), float(values[0]), 0.0
    count = drawn.shape[1]
    return float(values[0] - error * high), float(values[0] - error * low), error * sqrt(count / (count - 1))


def _bootstrap_with_pseudo_counts(
    counts: Counts, parts: Floats, drawn: Floats, seed: int
) -> tuple[float, float, float]:
    """Returns the ends by percentiles over draws with pseudo-counts, and the standard error. parts: shape [k, units],
    the parts of `counts` by unit. drawn: from `_draw_units`. seed: of the pseudo-counts."""
    labels, totals = counts.labels, parts @ drawn.T
    noise = np.zeros((counts.blocks, len(parts) // counts.blocks, len(drawn)))
    noise[:, : 2 * labels] = np.random.default_rng(seed).gamma(
        0.5, counts.unit, (counts.blocks, 2 * labels, len(drawn))
    )
    zero = (parts.sum(axis=1) == 0).reshape(noise.shape[:2])
    below, above = noise.copy(), noise.copy()
    below[:, :labels][zero[:, :labels]] = 0.0  # no hits: the lower end stays 0
    above[:, labels : 2 * labels][zero[:, labels : 2 * labels]] = 0.0  # no errors: the upper end stays 100
    subtracted = np.arange(counts.blocks)[:, None, None] < counts.blocks // 2
    lower = counts.finish(totals + np.where(subtracted, above, below).reshape(totals.shape))
    upper = counts.finish(totals + np.where(subtracted, below, above).reshape(totals.shape))
    tail = compute_tail(drawn.shape[1])
    return float(np.quantile(lower, tail)), float(np.quantile(upper, 1 - tail)), float(upper.std())


def compute_tail(count: int) -> float:
    """Returns the share of draws to cut off at either end, so that an interval by percentiles is as wide as one by t.
    count: the number of independent units, such as dialogues."""
    return erfc(t_quantile(count - 1) * sqrt(count / (count - 1)) / sqrt(2)) / 2


def wilson(share: float, n: float) -> tuple[float, float]:
    """Returns Wilson's 95 % interval of a share (0 to 1) of n samples. For 26 of 31 it is 0.674 to 0.929."""
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half_width = Z / (1 + Z * Z / n) * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, middle - half_width), min(1.0, middle + half_width)


def _compute_wilson(value: Value, dialogues: Dialogues) -> Interval:
    right = evaluate_each(value, len(dialogues.results)) / 100
    n, method, share = float(len(right)), "wilson", float(right.mean())
    if len(dialogues) < n:
        n = dialogues.effective_n(right)
        if dialogues.count_rarer(right) < MIN_RARE:
            n = min(n, len(dialogues))
        method = f"wilson, {dialogues.describe_n(n)}"
    low, high = wilson(share, n)
    return Interval((100 * min(low, share), 100 * max(high, share)), method)


def evaluate_each(value: Value, n: int) -> Floats:
    """Returns shape [n]: the value of each result by itself."""
    if isinstance(value, Sums):
        return value.finish(value.parts)
    return np.array([value(np.array([index])) for index in range(n)])


def t_quantile(freedom: float) -> float:
    """Returns the 97.5 % quantile of Student's t distribution. freedom: the degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))
