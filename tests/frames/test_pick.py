"""The choice of keyframes from artificial candidates: their order, number and spread."""

from itertools import accumulate

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mmerg.frames.extract import choose_representative, choose_uniform


def thumb(level: float) -> NDArray[np.float32]:
    return np.full((4, 4, 3), level, np.float32)


@st.composite
def rising_times(draw: st.DrawFn) -> list[float]:
    steps = draw(st.lists(st.integers(1, 400), min_size=1, max_size=24))
    return [total / 100 for total in accumulate(steps)]


@settings(max_examples=30)
@given(times=rising_times(), k=st.integers(1, 30), data=st.data())
def test_choices_increase_and_are_as_many_as_possible(times: list[float], k: int, data: st.DataObject) -> None:
    levels = data.draw(st.lists(st.floats(0, 1, width=32), min_size=len(times), max_size=len(times)))
    sharpness = data.draw(st.lists(st.floats(0, 5000), min_size=len(times), max_size=len(times)))
    for chosen in (choose_uniform(len(times), k), choose_representative(times, list(map(thumb, levels)), sharpness, k)):
        assert chosen == sorted(set(chosen))
        assert len(chosen) == min(k, len(times))
        assert set(chosen) <= set(range(len(times)))


def test_a_still_clip_is_covered_evenly() -> None:
    times = [0.25 * index for index in range(16)]
    chosen = choose_representative(times, [thumb(0.4)] * 16, [50.0] * 16, 4)
    assert [index // 4 for index in chosen] == [0, 1, 2, 3]
