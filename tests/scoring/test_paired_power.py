"""McNemar's test and Holm's correction by other implementations; detectable differences by simulation."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as published_mcnemar

from mmerg.scoring.shares import holm, mcnemar, smallest_shift


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


@pytest.mark.parametrize(("n", "discordance"), [(31, 0.5), (71, 0.3), (31, 0.05)])
def test_the_smallest_shift_is_found_with_80_percent_power(n: int, discordance: float) -> None:
    """A shift larger than the discordance makes more pairs differ."""
    shift = smallest_shift(n, discordance)
    assert shift is not None
    assert (shift > discordance) == (discordance == 0.05)
    share, p = max(discordance, shift), cache(mcnemar)
    chances = [(share - shift) / 2, (share + shift) / 2, 1 - share]
    drawn = np.random.default_rng(1).multinomial(n, chances, size=2000)
    assert np.mean([p(int(b), int(c)) <= 0.05 for b, c, _ in drawn]) == pytest.approx(0.8, abs=0.03)


def test_fewer_than_six_pairs_detect_nothing() -> None:
    assert [smallest_shift(n, 1.0) for n in range(1, 6)] == [None] * 5
    assert mcnemar(0, 5) > 0.05 > mcnemar(0, 6)
    assert smallest_shift(6, 0.0) == pytest.approx(0.8 ** (1 / 6), abs=1e-6)
