"""The measurements of frames, and the sentences that describe them."""

import numpy as np
import pytest

from mmerg.frames.describe import Face, Measurements, describe_frame, measure
from mmerg.frames.picture import to_jpeg
from tests.frames.clips import picture


def flat(level: int) -> bytes:
    return to_jpeg(np.full((120, 160, 3), level, np.uint8), 95)


def test_light_contrast_and_motion_are_percentages_of_the_range() -> None:
    black, grey, white = measure([flat(0), flat(128), flat(255)], [0.0, 1.0, 2.0])
    assert [black.brightness, grey.brightness, white.brightness] == pytest.approx([0, 50, 100], abs=0.5)
    assert black.motion is None
    assert [grey.motion, white.motion] == pytest.approx([50, 50], abs=0.5)
    assert black.contrast == grey.contrast == white.contrast == 0.0
    halves = np.zeros((120, 160, 3), np.uint8)
    halves[:, 80:] = 255
    [measurements] = measure([to_jpeg(halves, 95)], [0.0])
    assert measurements.contrast == pytest.approx(50, abs=0.5)


def test_a_blurred_picture_is_less_sharp() -> None:
    clear, blurred = measure([to_jpeg(picture(3), 95), to_jpeg(picture(3, blurred=True), 95)], [0.0, 0.04])
    assert blurred.sharpness < 0.6 * clear.sharpness
    [without_detail] = measure([flat(90)], [0.0])
    assert without_detail.sharpness == 0.0


@pytest.mark.parametrize(
    ("face", "place"),
    [
        (Face(x=5, y=4, width=22.4, height=30), "left, upper third, 22% of the width"),
        (Face(x=40, y=40, width=20, height=20), "centre, middle third, 20% of the width"),
        (Face(x=80, y=80, width=20, height=20), "right, lower third, 20% of the width"),
        (Face(x=100, y=100, width=0, height=0), "right, lower third, 0% of the width"),
    ],
)
def test_the_place_of_a_face_is_described(face: Face, place: str) -> None:
    assert face.describe_place() == place


def test_the_sentence_gives_the_measurements_and_nothing_else() -> None:
    left, right = Face(x=5, y=4, width=22, height=30), Face(x=70, y=40, width=18, height=24)
    first = Measurements(time=0.5, brightness=43.2, contrast=18.4, sharpness=120.3, motion=None, faces=())
    assert describe_frame(first) == "At 0.5 s: brightness 43%, contrast 18%, sharpness 120, no face found."
    with_face = first._replace(motion=2.14, faces=(left,))
    assert describe_frame(with_face) == (
        "At 0.5 s: brightness 43%, contrast 18%, sharpness 120, changed by 2.1% since the frame before, "
        "one face found (left, upper third, 22% of the width)."
    )
    with_faces = first._replace(faces=(left, right))
    assert describe_frame(with_faces).endswith(
        "2 faces found (left, upper third, 22% of the width; right, middle third, 18% of the width)."
    )
