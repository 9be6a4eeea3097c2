"""A montage combines several frames in one picture."""

import numpy as np
import pytest

from mmerg.frames.picture import from_jpeg, make_montage, to_jpeg

COLOURS = ((200, 40, 40), (40, 200, 40), (40, 40, 200), (200, 200, 40))


def flat(colour: tuple[int, int, int], width: int = 160, height: int = 120) -> bytes:
    return to_jpeg(np.full((height, width, 3), colour, np.uint8), 95)


def test_frames_are_ordered_left_to_right_and_top_to_bottom() -> None:
    sheet = from_jpeg(make_montage([flat(colour) for colour in COLOURS], 896, 95))
    assert sheet.shape == (240, 320, 3)
    for (y, x), colour in zip(((80, 80), (80, 240), (200, 80), (200, 240)), COLOURS, strict=True):
        assert sheet[y, x] == pytest.approx(colour, abs=8)


def test_each_frame_has_its_number_in_the_corner() -> None:
    frame = flat((200, 200, 200))
    sheet = from_jpeg(make_montage([frame] * 4, 896, 95))
    corners = [sheet[y : y + 20, x : x + 20].astype(int) for y in (0, 120) for x in (0, 160)]
    for index, corner in enumerate(corners):
        assert corner.min() < 60  # the box
        assert corner.max() > 200  # the digit
        assert all(np.abs(corner - other).mean() > 10 for other in corners[index + 1 :])


def test_a_frame_of_other_proportions_is_centred_on_black() -> None:
    sheet = from_jpeg(make_montage([flat((200, 200, 200), 160, 120), flat((200, 200, 200), 60, 120)], 896, 95))
    second = sheet[-120:, -160:]
    assert second[60, 80].min() > 180
    assert second[60, 20].max() < 20
    assert second[60, 140].max() < 20
