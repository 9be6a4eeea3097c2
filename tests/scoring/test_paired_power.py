"""What so many pairs can show, held against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from mmerg.scoring.power import LEVEL, mcnemar, smallest_shift


def simulated(n: int, discordance: float, shift: float) -> float:
    """How often McNemar's test rejects."""
    draw = np.random.default_rng(1)
    chances = [(discordance - shift) / 2, (discordance + shift) / 2, 1 - discordance]
    rejected = [mcnemar(int(b), int(c)) <= LEVEL for b, c, _ in draw.multinomial(n, chances, size=4000)]
    return float(np.mean(rejected))


@pytest.mark.parametrize(("n", "discordance"), [(31, 0.5), (71, 0.3), (268, 0.2), (268, 0.6)])
def test_four_in_five_find_the_smallest_shift(n: int, discordance: float) -> None:
    shift = smallest_shift(n, discordance)
    assert shift is not None
    assert shift < discordance
    assert simulated(n, discordance, shift) == pytest.approx(0.8, abs=0.025)


def test_a_shift_over_the_discordance_makes_more_pairs_differ() -> None:
    shift = smallest_shift(31, 0.05)
    assert shift is not None
    assert shift > 0.2
    assert shift == smallest_shift(31, 0.0)
    assert simulated(31, shift, shift) == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize("n", range(1, 6))
def test_fewer_than_six_pairs_show_nothing(n: int) -> None:
    assert smallest_shift(n, 1.0) is None
    assert mcnemar(0, n) > LEVEL


def test_six_pairs_that_all_differ_show_it() -> None:
    assert mcnemar(0, 6) < LEVEL
    assert smallest_shift(6, 0.0) == pytest.approx(0.8 ** (1 / 6), abs=1e-6)


def test_more_pairs_show_smaller_shifts_and_more_discordance_hides_them() -> None:
    by_n = [smallest_shift(n, 0.2) or 1 for n in (31, 71, 268, 2610)]
    assert by_n == sorted(by_n, reverse=True)
    by_discordance = [smallest_shift(268, share) or 1 for share in (0.1, 0.3, 0.6, 1.0)]
    assert by_discordance == sorted(by_discordance)
