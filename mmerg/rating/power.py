"""How many items and raters find a difference, by the variance that `mmerg rate score` will use.

A difference of an item as a rater sees it is the sum of the true one, of what items, raters and chance add, with their
standard deviations. Of pairs with winner or loser, items and raters have the same shares of the variance.
"""

from math import sqrt
from statistics import NormalDist, fmean

import numpy as np

from mmerg.console.tables import NONE, Sheet
from mmerg.rating.score import Table
from mmerg.scoring.shares import LEVEL
from mmerg.settings.commands import RateSettings

MOST, RATERS = 5000, (2, 3, 4, 5, 6, 8, 10)
Spread = tuple[float, float, float]  # standard deviations: of items, of raters, of the rest


def power_of(items: int, raters: int, difference: float, spread: Spread) -> float:
    """The probability that a true difference is found."""
    from scipy.stats import t

    of_items, of_raters, rest = (one**2 for one in spread)
    over_items, over_raters = (of_items + rest / raters) / items, of_raters / raters + rest / items / raters
    used = over_items + over_raters  # counts the rest twice, as the score does
    freedom = used**2 / (over_items**2 / (items - 1) + over_raters**2 / (raters - 1))
    true = sqrt(of_items / items + of_raters / raters + rest / items / raters)
    bound = float(t.ppf(1 - LEVEL / 2, freedom)) * sqrt(used)
    return 1 - NormalDist(difference, true).cdf(bound) + NormalDist(difference, true).cdf(-bound)


def items_for(raters: int, difference: float, spread: Spread, power: float) -> int | None:
    """The fewest items; None where not even MOST find it."""
    low, high = 2, MOST
    if power_of(high, raters, difference, spread) < power:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle, raters, difference, spread) >= power else (middle + 1, high)
    return low


def spread_of(table: Table) -> Spread | None:
    """Of differences between the first two candidates, a mean over questions (two-way analysis of variance); None for
    pairs, where fewer than two raters rated two items in common, and where all of these have the same difference."""
    found: list[list[float]] = []
    for values in table.ratings.values() if table.form.replies == 1 and len(table.key.candidates) > 1 else ():
        whole = values[table.of(0)] - values[table.of(1)]
        whole = whole[~np.isnan(whole).any(axis=1)]
        n, k = whole.shape
        if n > 1 and k > 1:
            rows, columns = whole.mean(axis=1), whole.mean(axis=0)
            rest = float(((whole - rows[:, None] - columns + whole.mean()) ** 2).sum()) / ((n - 1) * (k - 1))
            found.append([float(rows.var(ddof=1)) - rest / k, float(columns.var(ddof=1)) - rest / n, rest])
    means = [sqrt(max(0.0, fmean(one))) for one in zip(*found, strict=True)]
    return (means[0], means[1], means[2]) if means and (means[0] or means[2]) else None


def plan(settings: RateSettings, spread: Spread) -> Sheet:
    """Items by raters, for Likert and for pairs."""
    margin = 2 * settings.share - 1
    scale = sqrt((1 - margin**2) / (spread[0] ** 2 + spread[2] ** 2))
    pairs = (spread[0] * scale, spread[1] * scale, spread[2] * scale)
    rows = []
    for raters in RATERS:
        of_both = ((settings.difference, spread), (margin, pairs))
        counts = [items_for(raters, difference, of, settings.power) for difference, of in of_both]
        rows.append((str(raters), *(NONE if count is None else str(count) for count in counts)))
    share = f"{100 * settings.share:g} against {100 - 100 * settings.share:g}"
    heads = ("raters", f"items for {settings.difference:g} points", f"items for {share}")
    notes = [
        f"standard deviations of a difference: items {spread[0]:.2f}, raters {spread[1]:.2f}, the rest {spread[2]:.2f}",
        f"–: not even {MOST} items find it, as raters differ too much; each item needs that many raters",
    ]
    return Sheet(f"items that find it with {settings.power:.0%} power at {LEVEL:.0%}", heads, rows, notes)
