"""Shares of pairs: McNemar's exact test, and the smallest difference that so many pairs can show with it.

mcnemar(b=1, c=8)                        # 0.0391
smallest_shift(n=31, discordance=0.2)    # 0.243: with 31 pairs, 24 points of accuracy
"""

from __future__ import annotations

import numpy as np

LEVEL, POWER = 0.05, 0.8
DETECTABLE = 1.959964 + 0.841621  # standard errors: the normal quantiles of 97.5 % and 80 %


def mcnemar(b: int, c: int) -> float:
    """The p of McNemar's exact test on `b` pairs that differ one way and `c` the other: two-sided binomial, 1 where no
    pair differs (McNemar, Psychometrika 1947)."""
    from scipy.stats import binomtest

    return float(binomtest(b, b + c).pvalue) if b + c else 1.0


def smallest_shift(n: int, discordance: float) -> float | None:
    """The smallest difference of two shares (0 to 1) that McNemar's exact test finds in `n` pairs with 80 % power at
    5 %, where a share `discordance` of the pairs differ. A difference beyond it makes more of them differ. None where
    no difference can be found, which is so for fewer than six pairs."""
    from scipy.optimize import brentq
    from scipy.stats import binom

    differing = np.arange(n + 1)
    rejected = binom.ppf(LEVEL / 2, differing, 0.5) - 1  # the largest count of the rarer kind at which the test rejects

    def missing(shift: float) -> float:
        """By how much the test's power, over all numbers of pairs that may differ, is below what is wanted."""
        share = max(discordance, shift)
        rarer = (1 - shift / share) / 2 if share else 0.5
        return POWER - float(np.sum(binom.pmf(differing, n, share) * binom.cdf(rejected, differing, rarer)))

    return None if missing(1.0) > 0 else float(brentq(missing, 0.0, 1.0))
