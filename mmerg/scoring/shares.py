"""Shares of pairs, each right or wrong on either side: the interval of their difference, McNemar's exact test, the
smallest difference that it detects, and Holm's correction.

newcombe(both=20, one=0, other=4, neither=7)    # -0.006 and 0.263, about a difference of 0.129
mcnemar(b=1, c=8)                        # 0.0391
smallest_shift(n=31, discordance=0.2)    # 0.243: with 31 pairs, 24 points of accuracy
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from mmerg.scoring.intervals import wilson

LEVEL, POWER = 0.05, 0.8
DETECTABLE = 1.959964 + 0.841621  # in standard errors: the normal quantiles of 97.5 % and 80 %


def newcombe(both: float, one: float, other: float, neither: float) -> tuple[float, float]:
    """The 95 % interval (-1 to 1) of the second share minus the first, from the number of pairs that both have right,
    only the first, only the second, and neither (Newcombe, Statistics in Medicine 1998, 17:2635, method 10)."""
    n = both + one + other + neither
    first, second = (both + one) / n, (both + other) / n
    (low, high), (low_second, high_second) = wilson(first, n), wilson(second, n)
    product = (both + one) * (other + neither) * (both + other) * (one + neither)
    crossed = both * neither - one * other
    continuous = max(0.0, crossed - n / 2) if crossed > 0 else crossed  # corrected for continuity
    phi = continuous / sqrt(product) if product else 0.0  # 0 if a margin is empty

    def far(a: float, b: float) -> float:
        return sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))

    between = second - first
    return between - far(second - low_second, high - first), between + far(high_second - second, first - low)


def mcnemar(b: int, c: int) -> float:
    """The p of McNemar's exact test on `b` pairs that differ one way and `c` the other: two-sided binomial, 1 if no
    pair differs (McNemar, Psychometrika 1947)."""
    from scipy.stats import binomtest

    return float(binomtest(b, b + c).pvalue) if b + c else 1.0


def smallest_shift(n: int, discordance: float) -> float | None:
    """The smallest difference of two shares (0 to 1) that McNemar's exact test finds in `n` pairs with 80 % power at 5
    %, if a share `discordance` of the pairs differ; a larger difference makes more pairs differ. None if no difference
    can be found, as with fewer than six pairs."""
    from scipy.optimize import brentq
    from scipy.stats import binom

    differing = np.arange(n + 1)
    rejected = binom.ppf(LEVEL / 2, differing, 0.5) - 1  # the largest count of the rarer kind at which the test rejects

    def missing(shift: float) -> float:
        """The wanted power minus the test's, over all numbers of differing pairs."""
        share = max(discordance, shift)
        rarer = (1 - shift / share) / 2 if share else 0.5
        return POWER - float(np.sum(binom.pmf(differing, n, share) * binom.cdf(rejected, differing, rarer)))

    return None if missing(1.0) > 0 else float(brentq(missing, 0.0, 1.0))


def holm(ps: Sequence[float]) -> list[float]:
    """Each p, corrected for all of them (Holm, Scandinavian Journal of Statistics 1979)."""
    order = np.argsort(ps, kind="stable")
    corrected = np.empty(len(ps))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, np.array(ps)[order] * np.arange(len(ps), 0, -1)))
    return corrected.tolist()
