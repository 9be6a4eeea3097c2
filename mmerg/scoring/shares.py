"""Statistics of two shares over the same pairs: the interval of their difference, McNemar's exact test, and Holm's
correction.

newcombe(both=20, first_only=0, second_only=4, neither=7)    # -0.006 and 0.263, around the difference 0.129
mcnemar(b=1, c=8)                        # 0.0391
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from mmerg.scoring.intervals import wilson

LEVEL = 0.05


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


def holm(ps: Sequence[float]) -> list[float]:
    """Corrects each p for all of them (Holm, Scandinavian Journal of Statistics 1979)."""
    order = np.argsort(ps, kind="stable")
    corrected = np.empty(len(ps))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, np.array(ps)[order] * np.arange(len(ps), 0, -1)))
    return corrected.tolist()
