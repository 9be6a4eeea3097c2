"""McNemar's test and Holm's correction by other implementations, and the interval of a difference by simulation."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as published_mcnemar

from mmerg.scoring.shares import bonett_price, holm, mcnemar


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemars_test_equals_that_of_statsmodels(b: int, c: int) -> None:
    assert mcnemar(b, c) == pytest.approx(float(published_mcnemar([[7, b], [c, 5]], exact=True).pvalue))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holms_correction_is_bonferronis_over_every_set_of_hypotheses(ps: list[float]) -> None:
    """Closed testing: a hypothesis is rejected if every set that contains it is."""
    sets = [chosen for size in range(1, len(ps) + 1) for chosen in combinations(range(len(ps)), size)]
    bonferroni = {chosen: min(1.0, len(chosen) * min(ps[place] for place in chosen)) for chosen in sets}
    closed = [max(p for chosen, p in bonferroni.items() if place in chosen) for place in range(len(ps))]
    assert holm(ps) == pytest.approx(closed)


@pytest.mark.parametrize(("share", "gain", "common"), [(0.5, 0.1, 0.5), (0.84, 0.0, 0.8), (0.4, 0.3, 0.2)])
def test_the_interval_of_a_difference_covers(share: float, gain: float, common: float) -> None:
    """common: the probability that chance decides both results of a pair alike."""
    rng, hits = np.random.default_rng(1), 0
    for _ in range(1000):
        luck = rng.random(31)
        a, b = luck < share, np.where(rng.random(31) < common, luck, rng.random(31)) < share + gain
        low, high = bonett_price(int(np.sum(a & ~b)), int(np.sum(b & ~a)), 31)
        hits += low <= gain <= high
    assert hits / 1000 > 0.94
