"""McNemar's test, Holm's correction and Newcombe's interval by other implementations and a worked example."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as published_mcnemar

from mmerg.scoring.shares import holm, mcnemar, newcombe


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


def test_the_interval_of_shares_is_newcombes() -> None:
    """The worked example of his paper's table II: 36, 12, 2, 0."""
    assert newcombe(36, 2, 12, 0) == pytest.approx((0.0569, 0.3404), abs=1e-4)
