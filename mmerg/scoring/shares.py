"""Statistics of two shares over the same pairs: the interval of their difference, McNemar's exact test, and Holm's
correction.

bonett_price(b=0, c=4, n=31)    # -0.018 and 0.261, for the difference 0.129
mcnemar(b=1, c=8)                        # 0.0391
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from mmerg.scoring.intervals import Z

LEVEL = 0.05


def bonett_price(b: float, c: float, n: float) -> tuple[float, float]:
    """Returns the 95 % interval (-1 to 1) of the second share minus the first: Wald's, with a pair more of either kind
    (Bonett and Price, Journal of Educational and Behavioral Statistics 2012, 37:479). b: the pairs that only the first
    has right; c: those that only the second has right; n: all pairs."""
    first_only, second_only = (b + 1) / (n + 2), (c + 1) / (n + 2)
    difference = second_only - first_only
    half_width = Z * sqrt((first_only + second_only - difference**2) / (n + 2))
    return max(-1.0, difference - half_width), min(1.0, difference + half_width)


def mcnemar(b: int, c: int) -> float:
    """Returns the p of McNemar's exact test (Psychometrika 1947): two-sided binomial, 1 if no pair differs. b: the
    pairs that only the first has right; c: those that only the second has right."""
    from scipy.stats import binomtest

    return float(binomtest(b, b + c).pvalue) if b + c else 1.0


def holm(ps: Sequence[float]) -> list[float]:
    """Corrects each p for all of them (Holm, Scandinavian Journal of Statistics 1979)."""
    order = np.argsort(ps, kind="stable")
    corrected = np.empty(len(ps))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, np.array(ps)[order] * np.arange(len(ps), 0, -1)))
    return corrected.tolist()
