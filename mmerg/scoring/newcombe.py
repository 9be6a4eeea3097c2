"""The interval of a difference of two shares over the same samples (Newcombe, Statistics in Medicine 1998, 17:2635, his
method 10: Wilson's intervals of both shares, squared and added, with their correlation).

    newcombe(both=20, one=0, other=4, neither=7)    # -0.006 and 0.263, about a difference of 0.129
"""

from __future__ import annotations

from math import sqrt

from mmerg.scoring.intervals import wilson


def newcombe(both: float, one: float, other: float, neither: float) -> tuple[float, float]:
    """The 95 % interval (-1 to 1) of the other's share less the one's, from how many pairs both have right, one alone,
    the other alone, and neither. It has width where no pair differs."""
    n = both + one + other + neither
    first, second = (both + one) / n, (both + other) / n
    (low, high), (low_second, high_second) = wilson(first, n), wilson(second, n)
    together = _correlation(both, one, other, neither)

    def far(a: float, b: float) -> float:
        return sqrt(max(0.0, a * a - 2 * together * a * b + b * b))

    between = second - first
    return between - far(second - low_second, high - first), between + far(high_second - second, first - low)


def _correlation(both: float, one: float, other: float, neither: float) -> float:
    """Phi, corrected for continuity where it is positive; 0 where a margin is empty."""
    n = both + one + other + neither
    product = (both + one) * (other + neither) * (both + other) * (one + neither)
    if not product:
        return 0.0
    crossed = both * neither - one * other
    return (max(0.0, crossed - n / 2) if crossed > 0 else crossed) / sqrt(product)
