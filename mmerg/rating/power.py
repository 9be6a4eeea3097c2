"""The number of items and raters that detect a difference, with the variance that `mmerg rate score` uses.

The difference that a rater sees on an item is the sum of the true one and of random parts of the item, the rater and
chance, each with its standard deviation. For pairs, these parts are scaled to the variance of wins and losses.
"""

from math import sqrt

import numpy as np

from mmerg.console.tables import NONE, Table
from mmerg.console.terminal import console
from mmerg.scoring.metric import Floats, Indices
from mmerg.scoring.shares import LEVEL
from mmerg.settings.commands import RateSettings

MOST = 5000  # items
RATERS = (2, 3, 4, 5, 6, 8, 10)
Spread = tuple[float, float, float]  # standard deviations: of items, of raters, residual


def compute_power(items: Indices, raters: int, difference: float, spread: Spread) -> Floats:
    """Returns the probability of detecting a true difference, for each number of items, shape [numbers of items]."""
    from scipy.stats import norm, t

    item_variance, rater_variance, rest = (sd**2 for sd in spread)
    over_items = (item_variance + rest / raters) / items
    over_raters = rater_variance / raters + rest / items / raters
    used = over_items + over_raters  # counts the residual twice, as the score does
    freedom = used**2 / (over_items**2 / (items - 1) + over_raters**2 / (raters - 1))
    true = np.sqrt(item_variance / items + rater_variance / raters + rest / items / raters)
    bound = t.ppf(1 - LEVEL / 2, freedom) * np.sqrt(used)
    return np.asarray(norm.sf(bound, difference, true) + norm.cdf(-bound, difference, true))


def find_item_count(raters: int, difference: float, spread: Spread, power: float) -> int | None:
    """Finds the smallest number of items that gives the power; None if even MOST are not enough."""
    items = np.arange(2, MOST + 1)
    enough = items[compute_power(items, raters, difference, spread) >= power]
    return int(enough[0]) if len(enough) else None


def plan(settings: RateSettings) -> int:
    """Prints how many items and raters detect a difference, for Likert ratings and for pairs."""
    spread, margin = (settings.sd_items, settings.sd_raters, settings.sd_noise), 2 * settings.share - 1
    scale = sqrt((1 - margin**2) / (spread[0] ** 2 + spread[2] ** 2))
    pairs = (spread[0] * scale, spread[1] * scale, spread[2] * scale)
    rows = []
    for raters in RATERS:
        both = ((settings.difference, spread), (margin, pairs))
        counts = [find_item_count(raters, difference, sds, settings.power) for difference, sds in both]
        rows.append((f"{raters} raters", *(NONE if count is None else str(count) for count in counts)))
    heads = ("raters", f"items for {settings.difference:g} points", f"items for {100 * settings.share:g} % wins")
    people = f", not {settings.people} people who share the items" if settings.people else ""
    note = f"Assumes that each rater rates every item{people}. –: even {MOST} items are not enough, as raters differ."
    console().print(Table(f"items needed for {settings.power:.0%} power at {LEVEL:.0%}", heads, rows, [note]))
    return 0
