"""The frame where a face differs most: on drawn faces with a planted expression, and where there is no face."""

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


def taken(path: Path, store: FrameStore, settings: FramesSettings = SETTINGS) -> tuple[Frame, ...]:
    (outcome,) = extract([Clip(path)], settings, store)
    assert isinstance(outcome, tuple), outcome
    return outcome


def test_a_planted_expression_is_shown_beside_the_usual_look(tmp_path: Path, store: FrameStore) -> None:
    begins, ends = draw_clip(tmp_path / "talk.mp4", 0)
    frames = taken(tmp_path / "talk.mp4", store)
    assert sorted(frame.role for frame in frames) == ["apex of a face", "context"]
    assert [frame.time for frame in frames] == sorted(frame.time for frame in frames)
    [peak] = [frame for frame in frames if frame.role == "apex of a face"]
    assert begins <= peak.time < ends
    assert taken(tmp_path / "talk.mp4", store) == frames  # as the store has them


def test_without_a_face_the_region_that_moves_is_looked_at(tmp_path: Path, store: FrameStore) -> None:
    def scene(number: int) -> Picture:
        image = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
        image[60:120, 100:160] = np.indices((60, 60)).sum(axis=0)[..., None] * 2 + number % 3  # a still thing
        if 30 <= number < 42:
            image[75:105, 115:145] = 240
        return image

    path = write(tmp_path / "thing.mp4", map(scene, range(75)))
    [peak] = [frame for frame in taken(path, store) if frame.role == "apex of motion"]
    assert 30 <= peak.time * 25 < 42
