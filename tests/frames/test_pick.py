"""Picking on made-up candidates: order, number, scenes, sharpness."""

from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mmerg.frames.extract import representative, uniform


def thumb(level: float) -> NDArray[np.float32]:
    return np.full((4, 4, 3), level, np.float32)


@st.composite
def rising_times(draw: st.DrawFn) -> list[float]:
    steps = draw(st.lists(st.integers(1, 400), min_size=1, max_size=24))
    return [total / 100 for total in accumulate(steps)]


@given(times=rising_times(), k=st.integers(1, 30), data=st.data())
def test_picks_rise_without_repeats_and_are_as_many_as_can_be(times: list[float], k: int, data: st.DataObject) -> None:
    levels = data.draw(st.lists(st.floats(0, 1, width=32), min_size=len(times), max_size=len(times)))
    sharpness = data.draw(st.lists(st.floats(0, 5000), min_size=len(times), max_size=len(times)))
    for picked in (uniform(times, k), representative(times, [thumb(x) for x in levels], sharpness, k)):
        assert picked == sorted(set(picked))
        assert len(picked) == min(k, len(times))
        assert set(picked) <= set(range(len(times)))


@given(
    lengths=st.lists(st.integers(1, 8), min_size=1, max_size=5),
    levels=st.permutations([0.0, 0.25, 0.5, 0.75, 1.0]),
    data=st.data(),
)
def test_each_scene_gives_one_sharp_frame(lengths: list[int], levels: list[float], data: st.DataObject) -> None:
    scenes = [scene for scene, length in enumerate(lengths) for _ in range(length)]
    sharp = [data.draw(st.integers(0, length - 1)) + sum(lengths[:i]) for i, length in enumerate(lengths)]
    picked = representative(
        [0.2 * i for i in range(len(scenes))],
        [thumb(levels[scene]) for scene in scenes],
        [100.0 if i in sharp else 60.0 for i in range(len(scenes))],
        len(lengths),
    )
    assert picked == sharp


def test_typical_frames_go_before_the_very_sharpest() -> None:
    levels = [0.5, 0.5, 0.5, 0.9, 0.5, 0.5]
    picked = representative([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [thumb(x) for x in levels], [90.0] * 3 + [100.0] * 3, 1)
    assert picked[0] != 3


def test_a_still_clip_is_covered_evenly() -> None:
    times = [0.25 * i for i in range(16)]
    picked = representative(times, [thumb(0.4)] * 16, [50.0] * 16, 4)
    assert [i // 4 for i in picked] == [0, 1, 2, 3]


def test_a_burst_of_cuts_does_not_draw_all_frames_to_it() -> None:
    # Six cuts within the last second of ten: the calm nine seconds still have a frame.
    times = [0.5 * i for i in range(18)] + [9.0 + i / 6 for i in range(6)]
    levels = [0.3] * 18 + [0.9, 0.1, 0.8, 0.2, 0.9, 0.1]
    picked = representative(times, [thumb(x) for x in levels], [50.0] * 24, 4)
    assert any(i < 18 for i in picked)
    assert any(i >= 18 for i in picked)
