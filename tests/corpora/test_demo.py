"""The packaged demo corpus: whole, small, with faces that the finder sees."""

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from mmerg.corpora.dialogue import Clip
from mmerg.corpora.folder import Folder, demo_root
from mmerg.corpora.protocols import select
from tests.composed import protocol

CLIPS = sorted(path.name for path in demo_root().glob("*.mp4"))
CASCADE = Path(cv2.__file__).parent / "data" / "haarcascade_frontalface_default.xml"
MEGABYTE = 1_000_000


def pictures(path: Path) -> list[npt.NDArray[np.uint8]]:
    video = cv2.VideoCapture(str(path))
    frames = []
    while True:
        more, frame = video.read()
        if not more:
            break
        frames.append(np.asarray(frame, np.uint8))
    video.release()
    return frames


def test_it_loads_clean() -> None:
    corpus = Folder(demo_root()).load()
    assert corpus.name == "demo"
    assert corpus.notes == {}
    assert len(corpus.dialogues) == 5
    turns = [turn for dialogue in corpus.dialogues for turn in dialogue.turns]
    assert {turn.emotion for turn in turns} == set(corpus.labels)
    assert {turn.clip.path.name for turn in turns if turn.clip} == set(CLIPS)
    assert all(3 <= len(dialogue.turns) <= 6 for dialogue in corpus.dialogues)
    assert sorted(len({turn.speaker for turn in dialogue.turns}) for dialogue in corpus.dialogues) == [2, 2, 2, 2, 3]


def test_every_dialogue_gives_a_sample_with_a_gold_reply() -> None:
    selection = select(Folder(demo_root()).load(), protocol())
    assert selection.left_out == {}
    assert all(sample.target and sample.target.emotion for sample in selection.samples)
    assert all(sample.dropped == () for sample in selection.samples)
    assert all(any(turn.clip for turn in sample.scene.history) for sample in selection.samples)


def test_the_shared_clip_is_shown_up_to_the_hidden_reply() -> None:
    (sample,) = (s for s in select(Folder(demo_root()).load(), protocol()).samples if s.dialogue_id == "fine")
    spans = [(turn.clip.path.name, turn.clip.start, turn.clip.end) for turn in sample.scene.history if turn.clip]
    assert spans == [("fine_1.mp4", None, None), ("fine_talk.mp4", 0.0, 3.0), ("fine_talk.mp4", 3.0, 6.5)]
    assert sample.scene.history[2].clip is None
    assert sample.target
    hidden = sample.target.clip
    assert hidden == Clip((demo_root() / "fine_talk.mp4").resolve(), 6.5, 9.0)
    assert len(pictures(hidden.path)) == 9 * 12


@pytest.mark.parametrize("name", CLIPS)
def test_every_clip_opens_and_shows_a_face(name: str) -> None:
    cascade = cv2.CascadeClassifier(str(CASCADE))
    frames = pictures(demo_root() / name)
    assert len(frames) >= 24
    looked_at = frames[:: len(frames) // 5]
    assert {frame.shape for frame in looked_at} == {(240, 320, 3)}
    grey = [cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY) for frame in looked_at]
    with_face = sum(len(cascade.detectMultiScale(picture, 1.1, 5, minSize=(48, 48))) > 0 for picture in grey)
    assert with_face >= 0.8 * len(looked_at)
