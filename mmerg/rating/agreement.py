"""How far raters agree, from numbers of shape [units, raters] with NaN where a rater gave none.

alpha: Krippendorff's (Content Analysis, 2018, chapter 12; "Computing Krippendorff's Alpha-Reliability", 2011), nominal
or ordinal. ac2: Gwet's (Handbook of Inter-Rater Reliability, 2014, chapters 2 to 5), with ordinal weights, or AC1 with
identity weights; it does not fall where nearly all ratings are the same. icc: ICC(2,1) and ICC(2,k) of units that all
raters rated (Shrout and Fleiss 1979). kappa: Cohen's for two raters, quadratic weights where labels are ordered.

All but ICC are sums over units, so that a bootstrap is quick: `Tally(ratings, points).alpha("ordinal")(indices)`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Literal

import numpy as np

from mmerg.scoring.metric import Floats, Indices

Level = Literal["nominal", "ordinal"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal")


@dataclass
class Tally:
    """Counts of labels by unit. points: the scale in its order. counts: shape [units, points]."""

    ratings: Floats
    points: Sequence[float]
    counts: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.array([(self.ratings == point).sum(axis=1) for point in self.points], float).T
        self.sizes = self.counts.sum(axis=1)
        pairs = self.counts[:, :, None] * (self.counts[:, None, :] - np.eye(len(self.points)))
        self.pairs = pairs / np.maximum(self.sizes - 1, 1)[:, None, None]  # a unit with one rating has none

    def alpha(self, level: Level) -> Callable[[Indices], float]:
        """Alpha of the units with these indices; NaN where all ratings are the same, or none are paired."""

        def of(units: Indices) -> float:
            observed = self.pairs[units].sum(axis=0)
            n = observed.sum(axis=0)
            distance = _distance(n, level)
            expected = float((np.outer(n, n) * distance).sum())
            found = float((observed * distance).sum()) * float(n.sum() - 1)
            return 1 - found / expected if expected else nan

        return of

    def ac2(self, level: Level) -> Callable[[Indices], float]:
        """Gwet's coefficient of the units with these indices; NaN where none has two ratings."""
        q, rated = len(self.points), np.maximum(self.sizes, 1)[:, None]
        apart = np.abs(np.subtract.outer(range(q), range(q)))
        weights = 1 - apart * (apart + 1) / (q * (q - 1)) if level == "ordinal" else np.eye(q)
        shares = self.counts / rated
        alike = (self.counts * (self.counts @ weights - 1)).sum(axis=1) / np.maximum(self.sizes * (self.sizes - 1), 1)

        def of(units: Indices) -> float:
            several, rated = units[self.sizes[units] > 1], units[self.sizes[units] > 0]
            if not len(several):
                return nan
            share = shares[rated].mean(axis=0)
            chance = float(weights.sum() * (share * (1 - share)).sum()) / (q * (q - 1))
            return (float(alike[several].mean()) - chance) / (1 - chance)

        return of


def _distance(n: Floats, level: Level) -> Floats:
    """Squared distances of labels, shape [points, points]. n: how often each was given."""
    if level == "nominal":
        return 1 - np.eye(len(n))
    middle = np.cumsum(n) - n / 2
    return np.asarray(np.subtract.outer(middle, middle) ** 2)


def icc(ratings: Floats) -> tuple[float, float]:
    """ICC(2,1) and ICC(2,k): two-way random effects, absolute agreement, of one rater and of the mean of all. NaN with
    fewer than two units or raters, or where nothing varies."""
    n, k = ratings.shape
    if n < 2 or k < 2:
        return nan, nan
    mean = ratings.mean()
    rows = k * float(((ratings.mean(axis=1) - mean) ** 2).sum()) / (n - 1)
    columns = n * float(((ratings.mean(axis=0) - mean) ** 2).sum()) / (k - 1)
    left = ratings - ratings.mean(axis=1, keepdims=True) - ratings.mean(axis=0) + mean
    error = float((left**2).sum()) / ((n - 1) * (k - 1))
    single = rows + (k - 1) * error + k * (columns - error) / n
    average = rows + (columns - error) / n
    return ((rows - error) / single if single else nan), ((rows - error) / average if average else nan)


def confusion(a: Floats, b: Floats, points: Sequence[float]) -> Floats:
    """How often the one gave each label (rows) where the other gave each (columns)."""
    return np.array([[np.sum((a == row) & (b == column)) for column in points] for row in points], float)


def kappa(counts: Floats, level: Level) -> float:
    """Of a confusion of two raters; NaN where both gave one label only (Cohen 1960, 1968)."""
    q = len(counts)
    apart = np.subtract.outer(range(q), range(q)) ** 2 if level == "ordinal" else 1 - np.eye(q)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
    chance = float((apart * expected).sum())
    return 1 - float((apart * counts).sum()) / chance if chance else nan
