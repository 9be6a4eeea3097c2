"""Coefficients of agreement between raters. Ratings are numbers of shape [items, raters], with NaN if missing.

Krippendorff's alpha (Content Analysis, 2018, chapter 12) and Gwet's AC2 (Handbook of Inter-Rater Reliability, 2014,
chapters 2 to 5) are prepared once and then give the value for any item indices, which makes a bootstrap quick. AC2
stays high if nearly all ratings are the same.
"""

from collections.abc import Callable, Sequence
from math import nan
from typing import Literal

import numpy as np

from mmerg.scoring.metric import Floats, Indices

Level = Literal["nominal", "ordinal"]


def count_labels(ratings: Floats, points: Sequence[float]) -> Floats:
    """Counts how often each item got each point of the scale, shape [items, points]."""
    return np.array((ratings[:, :, None] == np.array(points)).sum(axis=1), float)


def krippendorff_alpha(ratings: Floats, points: Sequence[float], level: Level) -> Callable[[Indices], float]:
    """Prepares Krippendorff's alpha. Returns a function of item indices; its value is NaN if all ratings are the same,
    or no item has two. points: the scale in order."""
    counts = count_labels(ratings, points)
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(len(points)))
    pairs /= np.maximum(counts.sum(axis=1) - 1, 1)[:, None, None]

    def value(items: Indices) -> float:
        observed = pairs[items].sum(axis=0)
        n = observed.sum(axis=0)
        middle = np.cumsum(n) - n / 2
        distance = np.subtract.outer(middle, middle) ** 2 if level == "ordinal" else 1 - np.eye(len(n))
        expected = float((np.outer(n, n) * distance).sum())
        return 1 - float((observed * distance).sum()) * float(n.sum() - 1) / expected if expected else nan

    return value


def gwet_ac2(ratings: Floats, points: Sequence[float]) -> Callable[[Indices], float]:
    """Prepares Gwet's AC2 with ordinal weights. Returns a function of item indices; its value is NaN if no item has two
    ratings. points: the scale in order."""
    counts, q = count_labels(ratings, points), len(points)
    sizes = counts.sum(axis=1)
    apart = np.abs(np.subtract.outer(range(q), range(q)))
    weights = 1 - apart * (apart + 1) / (q * (q - 1))
    shares = counts / np.maximum(sizes, 1)[:, None]
    agreed = (counts * (counts @ weights - 1)).sum(axis=1) / np.maximum(sizes * (sizes - 1), 1)

    def value(items: Indices) -> float:
        paired, rated = items[sizes[items] > 1], items[sizes[items] > 0]
        if not len(paired):
            return nan
        share = shares[rated].mean(axis=0)
        chance = float(weights.sum() * (share * (1 - share)).sum()) / (q * (q - 1))
        return (float(agreed[paired].mean()) - chance) / (1 - chance)

    return value


def icc(ratings: Floats) -> float:
    """Computes ICC(2,k): two-way random effects, absolute agreement, of the mean of all raters (Shrout and Fleiss
    1979). Returns NaN with fewer than two items or raters, or without variance."""
    n, k = ratings.shape
    if n < 2 or k < 2:
        return nan
    rows = k * float(ratings.mean(axis=1).var(ddof=1))
    columns = n * float(ratings.mean(axis=0).var(ddof=1))
    rest = ratings - ratings.mean(axis=1, keepdims=True) - ratings.mean(axis=0) + ratings.mean()
    error = float((rest**2).sum()) / ((n - 1) * (k - 1))
    average = rows + (columns - error) / n
    return (rows - error) / average if average else nan


def weighted_kappa(a: Floats, b: Floats) -> float:
    """Computes Cohen's kappa with quadratic weights (Cohen 1968), which takes the points of the scale as equally far
    apart. a, b: the ratings of two raters, shape [items]. Returns NaN if both gave only one and the same rating."""
    expected = float(a.var() + b.var() + (a.mean() - b.mean()) ** 2) if len(a) else 0.0
    return 1 - float(((a - b) ** 2).mean()) / expected if expected else nan
