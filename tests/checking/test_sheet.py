"""The contact sheet: the run's own frames, the words under them, why there are none; never the reply."""

import re
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.checking.sheet import contact_sheet, spread
from mmerg.corpora.dialogue import Clip, Dialogue, Sample, Turn, cut
from mmerg.engine.look import Looker
from mmerg.frames.picture import from_jpeg
from mmerg.frames.store import FrameStore
from mmerg.settings.model import FramesSettings
from tests.frames.clips import COLOURS, numbered

LABELS = ("joy", "anger")


@pytest.fixture
def looker(tmp_path: Path) -> Looker:
    return Looker(FramesSettings(per_clip=2), FrameStore(tmp_path / "frames"))


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A clip a colour."""
    folder = tmp_path_factory.mktemp("scenes")
    return [numbered(folder / f"{n}.mp4", 50, scene=lambda _, n=n: n) for n in range(3)]  # type: ignore[misc]


def sample(*clips: Path | None, reply: str = "SECRET", words: str = "One.", id: str = "d") -> Sample:
    turns = [Turn("Ana", words, clip=Clip(clip) if clip else None) for clip in clips]
    return cut(Dialogue(id, (*turns, Turn("Ben", reply, "joy"))), len(turns), LABELS)


class Page(HTMLParser):
    """What a page shows: its tags, its words, and of each picture what it is told to be and the scene that it shows."""

    def __init__(self, *samples: Sample, looker: Looker, max_images: int = 8) -> None:
        super().__init__()
        self.source = contact_sheet("title", samples, looker, max_images)
        self.tags: set[str] = set()
        self.words = ""
        self.pictures: list[tuple[str, int]] = []
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attrs)
        if tag == "img":
            picture = from_jpeg(b64decode((given["src"] or "").removeprefix("data:image/jpeg;base64,"), validate=True))
            middle = picture.mean(axis=(0, 1))
            scene = min(
                range(3), key=lambda scene: sum(abs(a - b) for a, b in zip(middle, COLOURS[scene], strict=True))
            )
            self.pictures.append(((given["alt"] or "").partition(",")[0], scene))

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_frames_of_the_last_turns_are_on_it_under_their_turn(scenes: list[Path], looker: Looker) -> None:
    page = Page(sample(*scenes), looker=looker)
    assert page.pictures == [("turn 2", 1), ("turn 2", 1), ("turn 3", 2), ("turn 3", 2)]
    assert re.findall(r"turn (\d), (\d\.\d\d) s", page.words)[0][0] == "2"
    assert "d/4 · reply by Ben (hidden)" in page.words
    assert "2. Ana: One." in page.words
    assert "turn 1 as text only" in page.words
    assert "1. Ana" not in page.words


def test_the_reply_changes_nothing(scenes: list[Path], looker: Looker) -> None:
    one, other = (Page(sample(*scenes, reply=reply), looker=looker) for reply in ("SECRET", "A quite other reply."))
    assert one.source == other.source
    assert "SECRET" not in one.source


def changed(looker: Looker, **frames: int) -> Looker:
    return replace(looker, settings=looker.settings.model_copy(update=frames))


def test_the_same_samples_give_the_same_page(scenes: list[Path], looker: Looker, tmp_path: Path) -> None:
    fresh = replace(looker, store=FrameStore(tmp_path / "other"))
    assert len({Page(sample(*scenes), looker=one).source for one in (looker, looker, fresh)}) == 1


def test_as_many_frames_as_a_run_would_send(scenes: list[Path], looker: Looker) -> None:
    """Two frames in all: the latest turn takes them, the other one's place says so."""
    page = Page(sample(*scenes), looker=changed(looker, max_frames=2))
    assert page.pictures == [("turn 3", 2)] * 2
    assert "no frames: later turns take all frames (frames.max_frames)" in page.words
    assert Page(sample(*scenes), looker=looker, max_images=2).source == page.source
    grid = Page(sample(*scenes), looker=looker, max_images=1)
    assert [scene for _, scene in grid.pictures] == [1, 1, 2, 2]
    assert "all frames go in one numbered grid" in grid.words


def test_turns_without_frames_say_why(tmp_path: Path, looker: Looker) -> None:
    (tmp_path / "text.mp4").write_bytes(b"no film")
    page = Page(sample(tmp_path / "text.mp4", tmp_path / "gone.mp4"), sample(None), looker=looker)
    for why in ("the clip cannot be read", "the clip's file is missing", "this turn has no clip"):
        assert f"no frames: {why}" in page.words
    hidden = replace(sample(None, None), dropped=(1,))
    assert "left out: the clip could show the reply" in Page(hidden, looker=looker).words
    blind = Page(sample(None, None), looker=changed(looker, last_turns=0))
    assert "frames.seen_by=none: no agent sees frames" in blind.words
    assert (page.pictures, blind.pictures) == ([], [])


@pytest.mark.parametrize(
    "words",
    [
        "我不知道。怎么了？ 😀 مرحبا",
        "line\nfeed\ttab \x1b[31mred \u202ereversed",
        "\udce9 lone half",
        "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;{title}",
        "W" * 5000,
    ],
    ids=["alphabets", "controls", "surrogate", "markup", "long word"],
)
def test_any_words_are_words(words: str, looker: Looker) -> None:
    plain = Page(sample(None), looker=looker)
    page = Page(replace(sample(None, words=words), dialogue_id=words), sample(None, id=words), looker=looker)
    assert page.tags == plain.tags
    assert not set("\x1b\u202e\udce9") & set(page.source)
    assert words.splitlines()[0][:20].replace("\udce9", "\\udce9") in page.words


@given(st.integers(0, 40), st.integers(1, 20))
def test_samples_are_spread_evenly(have: int, count: int) -> None:
    samples = [sample(None, id=str(number)) for number in range(have)]
    taken = [int(one.dialogue_id) for one in spread(samples, count)]
    assert len(taken) == min(have, count) == len(set(taken))
    assert taken == sorted(taken)
    gaps = [after - before for before, after in pairwise(taken)]
    assert max(gaps, default=0) - min(gaps, default=0) <= 1
