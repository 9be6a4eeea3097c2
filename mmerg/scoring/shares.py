"""Statistics of two shares over the same pairs: the interval of their difference, McNemar's exact test, the smallest
difference that the test detects, and Holm's correction.

newcombe(both=20, first_only=0, second_only=4, neither=7)    # -0.006 and 0.263, around the difference 0.129
mcnemar(b=1, c=8)                        # 0.0391
smallest_shift(n=31, discordance=0.2)    # 0.243: with 31 pairs, 24 points of accuracy
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from mmerg.scoring.intervals import wilson

LEVEL, POWER = 0.05, 0.8
DETECTABLE = 1.959964 + 0.841621  # in standard errors: the normal quantiles of 97.5 % and 80 %


def newcombe(both: float, first_only: float, second_only: float, neither: float) -> tuple[float, float]:
    """Returns the 95 % interval (-1 to 1) of the second share minus the first (Newcombe, Statistics in Medicine 1998,
    17:2635, method 10), from the number of pairs that both, only the first, only the second, and neither have right."""
    n = both + first_only + second_only + neither
    first, second = (both + first_only) / n, (both + second_only) / n
    (low, high), (low_second, high_second) = wilson(first, n), wilson(second, n)
    product = (both + first_only) * (second_only + neither) * (both + second_only) * (first_only + neither)
    cross = both * neither - first_only * second_only
    corrected = max(0.0, cross - n / 2) if cross > 0 else cross  # for continuity
    phi = corrected / sqrt(product) if product else 0.0  # 0 if a margin is empty

    def compute_distance(a: float, b: float) -> float:
        return sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))

    difference = second - first
    below = compute_distance(second - low_second, high - first)
    above = compute_distance(high_second - second, first - low)
    return difference - below, difference + above


def mcnemar(b: int, c: int) -> float:
    """Returns the p of McNemar's exact test (Psychometrika 1947): two-sided binomial, 1 if no pair differs. b: the
    pairs that only the first has right; c: those that only the second has right."""
    from scipy.stats import binomtest

    return float(binomtest(b, b + c).pvalue) if b + c else 1.0


def smallest_shift(n: int, discordance: float) -> float | None:
    """Finds the smallest difference of two shares (0 to 1) that McNemar's exact test detects with 80 % power at the 5 %
    level in `n` pairs; None if it detects none, as with fewer than six pairs. discordance: the share of the pairs that
    differ (0 to 1). A larger difference makes more pairs differ."""
    from scipy.optimize import brentq
    from scipy.stats import binom

    differing = np.arange(n + 1)
    rejected = binom.ppf(LEVEL / 2, differing, 0.5) - 1  # the largest count of the rarer kind that rejects

    def compute_shortfall(shift: float) -> float:
        """Computes the wanted power minus the power of the test, over all numbers of differing pairs."""
        share = max(discordance, shift)
        rarer = (1 - shift / share) / 2 if share else 0.5
        return POWER - float(np.sum(binom.pmf(differing, n, share) * binom.cdf(rejected, differing, rarer)))

    return None if compute_shortfall(1.0) > 0 else float(brentq(compute_shortfall, 0.0, 1.0))


def holm(ps: Sequence[float]) -> list[float]:
    """Corrects each p for all of them (Holm, Scandinavian Journal of Statistics 1979)."""
    order = np.argsort(ps, kind="stable")
    corrected = np.empty(len(ps))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, np.array(ps)[order] * np.arange(len(ps), 0, -1)))
    return corrected.tolist()
