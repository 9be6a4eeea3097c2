"""The contact sheet: the run's own frames, the words under them, why there are none; never the reply."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from mmerg.checking.lettering import Font
from mmerg.checking.sheet import CELL, contact_sheet, png, spread
from mmerg.corpora.dialogue import Clip, Dialogue, Sample, Turn, cut
from mmerg.engine.look import Looker
from mmerg.frames.frame import FrameSettings
from mmerg.frames.store import FrameStore
from tests.frames.clips import COLOURS, numbered

LABELS = ("joy", "anger")


@pytest.fixture
def looker(tmp_path: Path) -> Looker:
    return Looker(FrameSettings(per_clip=2), 8, 2, FrameStore(tmp_path / "frames"))


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A clip a colour."""
    folder = tmp_path_factory.mktemp("scenes")
    return [numbered(folder / f"{n}.mp4", 50, scene=lambda _, n=n: n) for n in range(3)]  # type: ignore[misc]


def sample(*clips: Path | None, reply: str = "SECRET", words: str = "One.", id: str = "d") -> Sample:
    turns = [Turn("Ana", words, clip=Clip(clip) if clip else None) for clip in clips]
    return cut(Dialogue(id, (*turns, Turn("Ben", reply, "joy"))), len(turns), LABELS)


def pixels(*samples: Sample, looker: Looker, max_images: int = 8) -> NDArray[np.uint8]:
    return np.asarray(contact_sheet("title", samples, looker, max_images))


def shows(sheet: NDArray[np.uint8], scene: int) -> bool:
    """Whether a frame of the scene stands on the sheet: its colour (blue, green, red) rules at least a tenth of a
    cell's pixels."""
    blue, green, red = COLOURS[scene]
    distance = np.abs(sheet.astype(int) - (red, green, blue)).max(axis=2)
    return int((distance < 50).sum()) > CELL * CELL // 10


def test_the_frames_of_the_last_turns_are_on_it(scenes: list[Path], looker: Looker) -> None:
    sheet = pixels(sample(*scenes), looker=looker)
    assert [shows(sheet, scene) for scene in range(3)] == [False, True, True]
    assert sheet.shape[1] > 4 * CELL


def test_the_reply_changes_nothing(scenes: list[Path], looker: Looker) -> None:
    one, other = (pixels(sample(*scenes, reply=reply), looker=looker) for reply in ("SECRET", "A quite other reply."))
    assert np.array_equal(one, other)
    assert not np.array_equal(one, pixels(sample(*scenes, words="Two."), looker=looker))


def test_the_same_samples_give_the_same_bytes(scenes: list[Path], looker: Looker, tmp_path: Path) -> None:
    fresh = replace(looker, store=FrameStore(tmp_path / "other"))
    made = [png(contact_sheet("title", [sample(*scenes)], one, 8)) for one in (looker, looker, fresh)]
    assert made[0] == made[1] == made[2]


def test_as_many_frames_as_a_run_would_send(scenes: list[Path], looker: Looker) -> None:
    """Two frames in all: the latest turn takes them, the other one's place says so."""
    few = replace(looker, max_frames=2)
    sheet = pixels(sample(*scenes), looker=few)
    assert [shows(sheet, scene) for scene in range(3)] == [False, False, True]
    by_images = pixels(sample(*scenes), looker=looker, max_images=2)
    assert np.array_equal(sheet, by_images)
    assert all(shows(pixels(sample(*scenes), looker=looker, max_images=1), scene) for scene in (1, 2))  # in a grid


@pytest.mark.parametrize("seen", [0, 2])
def test_samples_without_frames(seen: int, tmp_path: Path, looker: Looker) -> None:
    (tmp_path / "text.mp4").write_bytes(b"no film")
    nothing = [sample(None, None), sample(tmp_path / "text.mp4", tmp_path / "gone.mp4"), sample(None)]
    sheet = pixels(*nothing, looker=replace(looker, last_turns=seen))
    assert len(np.unique(sheet.reshape(-1, 3), axis=0)) > 3  # letters are there


def test_ten_frames_of_a_turn_take_two_lines(scenes: list[Path], looker: Looker) -> None:
    settings = FrameSettings(per_clip=10)
    many = Looker(settings, 20, 1, looker.store)
    wide = pixels(sample(scenes[0]), looker=many, max_images=20)
    narrow = pixels(sample(scenes[0]), looker=replace(many, settings=FrameSettings(per_clip=4)), max_images=20)
    assert wide.shape[0] > narrow.shape[0]
    assert wide.shape[1] > narrow.shape[1]


def test_upright_pictures_stand_in_their_cell(scenes: list[Path], looker: Looker) -> None:
    from mmerg.corpora.dialogue import Crop

    turn = Turn("Ana", "One.", clip=Clip(scenes[1], crop=Crop(0.0, 0.0, 0.3, 1.0)))
    upright = cut(Dialogue("d", (turn, Turn("Ben", "Two."))), 1, LABELS)
    assert shows(pixels(upright, looker=looker), 1)


@pytest.mark.parametrize(
    "words",
    [
        "我不知道。怎么了？",
        "😀👩‍👩‍👧 e\u0301 z\u200dz",
        "مرحبا كيف حالك",
        "line\nfeed\ttab \x1b[31mred \u202ereversed",
        "\udce9 lone half",
        "W" * 5000,
        "word " * 1000,
    ],
    ids=["chinese", "emoji", "arabic", "controls", "surrogate", "long word", "long text"],
)
def test_any_words_can_be_drawn(words: str, scenes: list[Path], looker: Looker) -> None:
    plain = pixels(sample(scenes[0], words="One."), looker=looker)
    sheet = pixels(sample(scenes[0], words=words, id="d\n" + words[:40]), looker=looker)
    assert plain.shape[0] <= sheet.shape[0] < 4 * plain.shape[0]


@given(st.text(max_size=60), st.integers(20, 300), st.integers(1, 4))
def test_wrapped_lines_fit(text: str, width: int, lines: int) -> None:
    font = Font(14)
    done = font.wrapped(text, width, lines)
    assert len(done) <= lines
    assert all(font.width(line) <= width or len(line) <= 1 for line in done)


def test_wrapping_keeps_all_words_in_order() -> None:
    font = Font(14)
    text = "Oh. That way, she can keep track of it."
    assert font.wrapped(text, 10_000, 1) == [text]
    assert " ".join(font.wrapped(text, 120, 9)) == text
    assert "".join(font.wrapped("x" * 100, 120, 9)) == "x" * 100
    assert font.wrapped(text, 120, 2)[-1].endswith("…")
    assert font.wrapped("", 120, 2) == []


@given(st.integers(0, 40), st.integers(1, 20))
def test_samples_are_spread_evenly(have: int, count: int) -> None:
    samples = [sample(None, id=str(number)) for number in range(have)]
    taken = [int(one.dialogue_id) for one in spread(samples, count)]
    assert len(taken) == min(have, count) == len(set(taken))
    assert taken == sorted(taken)
    if len(taken) > 1:
        gaps = np.diff(taken)
        assert gaps.max() - gaps.min() <= 1


def test_png_can_be_read_back(scenes: list[Path], looker: Looker, tmp_path: Path) -> None:
    picture = contact_sheet("title", [sample(*scenes)], looker, 8)
    (tmp_path / "sheet.png").write_bytes(png(picture))
    with Image.open(tmp_path / "sheet.png") as read:
        assert np.array_equal(np.asarray(read), np.asarray(picture))
