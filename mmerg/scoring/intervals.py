"""95 % intervals. Samples of one dialogue are not independent, so what is drawn or left out is always a dialogue.

wilson: for shares (Wilson 1927). Where dialogues have several samples, n is the effective one, n over the design
effect (Dean and Pagano 2015), times (z/t)² with t of one degree of freedom less than dialogues (Korn and Graubard
1998).
bootstrap: percentiles over dialogues drawn with repetition (Efron and Tibshirani 1993, chapters 8 and 13), seeded, and
expanded as t is wider than z, since few dialogues give too narrow ones (Hesterberg 2015, arXiv 1411.5279).
jackknife: estimate ± 1.96 standard errors, from leaving out one dialogue, or one of 200 groups of them, at a time. For
figures over distinct n-grams a bootstrap is not sound: a dialogue that is drawn twice adds n-grams and no distinct
ones, so every resample lies below the estimate and the percentiles miss it. Leaving out repeats nothing, all parts
have one size, and the variance that they give errs upward on average (Efron and Stein 1981; for counts of kinds,
Heltshe and Forrester 1983). Under 10 dialogues it holds the truth far too seldom (34 % of times with 3, 71 % with 5),
so there is none.
What gives the same value in every draw has no interval, either: it would have no width.

    interval("bootstrap", value, dialogues, resamples=1000, seed=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import erfc, isfinite, sqrt

import numpy as np

from mmerg.scoring.metric import Floats, Indices, IntervalBy, Ratio, Value

Z = 1.959963984540054  # the normal's 97.5 % point
GROUPS = 200
FEWEST = 10  # dialogues for a jackknife
ONE_DIALOGUE = "no interval: all is from one dialogue"
ROUNDING = 1e-9  # sums in another order differ by less


@dataclass(frozen=True)
class Interval:
    """Its ends, or None and `why`; `method` says how it was had."""

    ends: tuple[float, float] | None
    method: str
    why: str = ""


@dataclass(frozen=True)
class Dialogues:
    """Where the answers of each dialogue stand: `members` from starts[d] on, sizes[d] of them; numbers[i] is the
    dialogue of answer i."""

    members: Indices
    starts: Indices
    sizes: Indices
    numbers: Indices

    @classmethod
    def of(cls, names: Sequence[str]) -> Dialogues:
        numbers = np.unique(np.array(names, object), return_inverse=True)[1]
        sizes = np.bincount(numbers)
        return cls(np.argsort(numbers, kind="stable"), np.cumsum(sizes) - sizes, sizes, numbers)

    def __len__(self) -> int:
        return len(self.sizes)

    def valued(self, value: Value) -> Value:
        """`value` over the answers of dialogues, one that is named twice giving its answers twice."""
        if isinstance(value, Ratio):  # sums by dialogue are drawn quicker than answers
            over, under = (np.bincount(self.numbers, part) for part in (value.numerators, value.denominators))
            return Ratio(over.astype(float), under.astype(float), value.then)

        def of(drawn: Indices) -> float:
            sizes = self.sizes[drawn]
            skipped = np.cumsum(sizes) - sizes
            return value(self.members[np.repeat(self.starts[drawn] - skipped, sizes) + np.arange(sizes.sum())])

        return of


def interval(by: IntervalBy, value: Value, names: Sequence[str], *, resamples: int, seed: int) -> Interval:
    """The interval of `value` over answers 0 … n−1, of which answer i is from dialogue names[i]. It holds the estimate:
    where resampling's bias or rounding would leave that outside, it is widened to it."""
    dialogues = Dialogues.of(names)
    if by == "wilson" and len(dialogues) > 1:
        return _wilson(value, dialogues, len(names))
    estimate = value(np.arange(len(names)))
    found = resampled(by, value, estimate, dialogues, draws=resamples, seed=seed)[0]
    if by == "jackknife" and found.ends:  # shares in percent, though an expectation-adjusted one may be over 100
        ends = max(0.0, found.ends[0]), min(max(100.0, estimate), found.ends[1])
        return replace(found, ends=ends)
    return found


def resampled(
    by: IntervalBy, value: Value, estimate: float, dialogues: Dialogues, *, draws: int, seed: int
) -> tuple[Interval, float]:
    """The interval by a bootstrap or a jackknife, and the standard error, 0 where there is no interval."""
    count = len(dialogues)
    if count < 2:
        return Interval(None, "", ONE_DIALOGUE), 0.0
    if by == "jackknife":
        if count < FEWEST:
            return Interval(None, "", f"no interval: a jackknife of fewer than {FEWEST} dialogues misleads"), 0.0
        error = jackknife(value, dialogues, seed)
        low, high = estimate - Z * error, estimate + Z * error
        groups = min(count, GROUPS)
        method = f"jackknife, {groups} groups of {count} dialogues" + f", seed {seed}" * (groups < count)
    else:
        found = drawn(value, dialogues, draws, seed)
        error, (low, high) = float(found.std()), percentiles(found, count)
        method = f"bootstrap, {draws} draws of {count} dialogues, seed {seed}"
    if not (isfinite(low) and isfinite(high)):
        return Interval(None, "", "no interval: it has no end"), 0.0
    if high - low <= ROUNDING:
        return Interval(None, "", "no interval: it would have no width, every draw giving the same"), 0.0
    return Interval((min(low, estimate), max(high, estimate)), method), error


def wilson(share: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a share (0 to 1) of n: 26 of 31 gives 0.674 and 0.929."""
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * float(np.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n)))
    return max(0.0, middle - half), min(1.0, middle + half)


def _wilson(value: Value, dialogues: Dialogues, n: int) -> Interval:
    right = each(value, n) / 100
    n_effective, method = float(n), "wilson"
    if len(dialogues) < n:
        n_effective = effective(right, dialogues)
        method = f"wilson, {describe_n(n_effective, dialogues)}"
    share = float(right.mean())
    low, high = wilson(share, n_effective)
    return Interval((100 * min(low, share), 100 * max(high, share)), method)


def each(value: Value, n: int) -> Floats:
    """Shape [n]: the value of each answer by itself."""
    if isinstance(value, Ratio) and value.denominators.all():  # at once
        return np.array(list(map(value.then, value.numerators / value.denominators)))
    return np.array([value(np.array([index])) for index in range(n)])


def describe_n(n_effective: float, dialogues: Dialogues) -> str:
    """An effective n with what it is of."""
    known = f"{n_effective:.1f}" if n_effective >= 1 else "under 1"
    return f"effective n {known} of {len(dialogues)} dialogues{', too few to tell' * (n_effective < 1)}"


def effective(values: Floats, dialogues: Dialogues) -> float:
    """The n of independent samples that would know the mean of `values` as well, one an answer: all of them times
    (z/t)² where dialogues do not differ, as where all values are alike."""
    count, away = len(dialogues), values - values.mean()
    sums = np.add.reduceat(away[dialogues.members], dialogues.starts)
    variance = float(np.sum(sums**2)) * count / (count - 1) / len(values) ** 2
    independent = min(len(values), float(np.mean(away**2)) / variance) if variance else len(values)
    return independent * (Z / student(count)) ** 2


def student(count: int) -> float:
    """The 97.5 % point of t for so many dialogues."""
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 0.975))


def drawn(value: Value, dialogues: Dialogues, draws: int, seed: int) -> Floats:
    """Shape [draws]: the value over as many dialogues as there are, drawn with repetition."""
    draw, count, of = np.random.default_rng(seed), len(dialogues), dialogues.valued(value)
    return np.array([of(draw.integers(count, size=count)) for _ in range(draws)])


def percentiles(found: Floats, count: int) -> tuple[float, float]:
    """The middle 95 % of what was drawn of `count` dialogues, somewhat more where these are few."""
    outside = erfc(student(count) * sqrt(count / (count - 1)) / sqrt(2)) / 2
    low, high = np.quantile(found, [outside, 1 - outside])
    return float(low), float(high)


def jackknife(value: Value, dialogues: Dialogues, seed: int) -> float:
    """The standard error of leaving out one of at most `GROUPS` groups of dialogues at a time; groups are drawn where
    they hold several."""
    count = len(dialogues)
    groups = min(count, GROUPS)
    group = np.arange(count) % groups
    if groups < count:
        group = np.random.default_rng(seed).permutation(group)
    of = dialogues.valued(value)
    found = np.array([of(np.flatnonzero(group != left_out)) for left_out in range(groups)])
    return float(np.sqrt((groups - 1) / groups * np.sum((found - found.mean()) ** 2)))
