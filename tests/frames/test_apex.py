"""The apex is found on drawn faces with a known expression, and without a face."""

from pathlib import Path

import numpy as np

from benchmarks.apex import draw_clip
from mmerg.corpora.dialogue import Clip
from mmerg.frames.extract import extract
from mmerg.frames.picture import Picture
from mmerg.frames.store import Frame, FrameStore
from mmerg.settings.model import FramesSettings
from tests.frames.clips import HEIGHT, WIDTH, write

SETTINGS = FramesSettings(method="apex", per_clip=2)


def extract_frames(path: Path, store: FrameStore, settings: FramesSettings = SETTINGS) -> tuple[Frame, ...]:
    (outcome,) = extract([Clip(path)], settings, store)
    assert isinstance(outcome, tuple), outcome
    return outcome


def test_a_known_expression_is_found_and_shown_with_the_usual_look(tmp_path: Path, store: FrameStore) -> None:
    start, end = draw_clip(tmp_path / "talk.mp4", 0)
    frames = extract_frames(tmp_path / "talk.mp4", store)
    assert sorted(frame.role for frame in frames) == ["apex of a face", "context"]
    assert [frame.time for frame in frames] == sorted(frame.time for frame in frames)
    [peak] = [frame for frame in frames if frame.role == "apex of a face"]
    assert start <= peak.time < end
    assert extract_frames(tmp_path / "talk.mp4", store) == frames  # from the store


def test_without_a_face_the_apex_is_that_of_the_moving_region(tmp_path: Path, store: FrameStore) -> None:
    def scene(number: int) -> Picture:
        image = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
        image[60:120, 100:160] = np.indices((60, 60)).sum(axis=0)[..., None] * 2 + number % 3  # an object at rest
        if 30 <= number < 42:
            image[75:105, 115:145] = 240
        return image

    path = write(tmp_path / "object.mp4", map(scene, range(75)))
    [peak] = [frame for frame in extract_frames(path, store) if frame.role == "apex of motion"]
    assert 30 <= peak.time * 25 < 42
