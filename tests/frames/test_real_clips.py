"""Two real clips: a man talking in a car, and street scenes with bicycles."""

from pathlib import Path

import pytest

from mmerg.corpora.dialogue import Clip
from mmerg.frames.describe import describe_frames
from mmerg.frames.extract import extract
from mmerg.frames.store import Frame, FrameStore
from mmerg.settings.model import FramesSettings

FOLDER = Path(__file__).parents[2] / ".." / "shared" / "data" / "video"


def extract_frames(name: str, store: FrameStore, per_clip: int = 4) -> tuple[Frame, ...]:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"the real clip {name} is not on this machine")
    (outcome,) = extract([Clip(path)], FramesSettings(per_clip=per_clip), store)
    assert isinstance(outcome, tuple), outcome
    return outcome


def test_a_talking_man_is_covered_evenly_and_his_face_is_found(store: FrameStore) -> None:
    frames = extract_frames("carphone_pristine.mp4", store)
    assert [(frame.width, frame.height) for frame in frames] == [(176, 132)] * 4  # its pixels have a ratio of 12:11
    assert [int(frame.time) for frame in frames] == [0, 1, 2, 3]
    sentences = describe_frames([store.read(frame.sha256) for frame in frames], [frame.time for frame in frames])
    assert "one face found (centre, middle third, 3" in sentences[0]


def test_each_street_scene_is_shown_once(store: FrameStore) -> None:
    frames = extract_frames("bikes.mp4", store, per_clip=5)
    cuts = (0.0, 1.2, 2.9, 5.2, 7.2, 10.0)  # seconds, as seen in the clip
    assert [sum(cut <= frame.time for cut in cuts) for frame in frames] == [1, 2, 3, 4, 5]
    assert {(frame.width, frame.height) for frame in frames} == {(448, 190)}
