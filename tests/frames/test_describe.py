"""The sentences that describe frames by measurements."""

import re

import numpy as np
import pytest

from mmerg.frames.describe import describe_frames, describe_place
from mmerg.frames.picture import to_jpeg
from tests.frames.clips import picture


def flat(level: int) -> bytes:
    return to_jpeg(np.full((120, 160, 3), level, np.uint8), 95)


def test_light_contrast_and_motion_are_percentages_of_the_range() -> None:
    assert describe_frames([flat(0), flat(128), flat(255)], [0.0, 1.0, 2.04]) == [
        "At 0.0 s: brightness 0%, contrast 0%, sharpness 0, no face found.",
        "At 1.0 s: brightness 50%, contrast 0%, sharpness 0, changed by 50.2% since the frame before, no face found.",
        "At 2.0 s: brightness 100%, contrast 0%, sharpness 0, changed by 49.8% since the frame before, no face found.",
    ]
    halves = np.zeros((120, 160, 3), np.uint8)
    halves[:, 80:] = 255
    [sentence] = describe_frames([to_jpeg(halves, 95)], [0.0])
    assert "contrast 50%" in sentence


def test_a_blurred_picture_is_less_sharp() -> None:
    sentences = describe_frames([to_jpeg(picture(3, blurred=blurred), 95) for blurred in (False, True)], [0.0, 0.04])
    clear, blurred = (int(re.findall(r"sharpness (\d+)", sentence)[0]) for sentence in sentences)
    assert blurred < 0.6 * clear


@pytest.mark.parametrize(
    ("face", "place"),
    [
        ((5, 4, 22.4, 30), "left, upper third, 22% of the width"),
        ((40, 40, 20, 20), "centre, middle third, 20% of the width"),
        ((80, 80, 20, 20), "right, lower third, 20% of the width"),
    ],
)
def test_the_place_of_a_face_is_described(face: tuple[float, float, float, float], place: str) -> None:
    assert describe_place(*face) == place
