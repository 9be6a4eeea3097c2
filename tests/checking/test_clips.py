"""Each defect of a clip is found, named as a run names it, and nothing sound is accused."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.checking.clips import ended_clips, examine, wanted_clips
from mmerg.corpora.dialogue import Clip, Corpus, Crop, Dialogue, Turn
from mmerg.corpora.protocols import select
from mmerg.errors import ClipError
from mmerg.frames.extract import extract
from mmerg.frames.store import FrameStore
from mmerg.settings.model import FramesSettings
from tests.composed import protocol
from tests.frames.clips import moov_first, numbered

SETTINGS = FramesSettings(max_seconds=10.0)


@pytest.fixture
def store(tmp_path: Path) -> FrameStore:
    return FrameStore(tmp_path / "frames")


def check(clips: list[Clip], store: FrameStore) -> dict[int, str]:
    """The reason of each flaw, by the clip's place in the list."""
    found, _ = examine(clips, SETTINGS, store, lambda done, files: None)
    return {number: found[clip].reason for number, clip in enumerate(clips) if clip in found}


def test_every_defect(tmp_path: Path, clip: Path, long_clip: Path, store: FrameStore) -> None:
    data = clip.read_bytes()
    contents = {"empty": b"", "text": b"no film " * 99, "cut": data[: len(data) // 2]}
    for name, content in contents.items():
        (tmp_path / f"{name}.mp4").write_bytes(content)
    short = numbered(tmp_path / "short.mp4", 3)
    clips = [
        Clip(clip),
        *(Clip(tmp_path / f"{name}.mp4") for name in contents),
        Clip(tmp_path / "gone.mp4"),
        Clip(long_clip),
        Clip(clip, 3.0, 4.0),
        Clip(clip, 1.5, 0.5),
        Clip(clip, 0.5, 9.0),
        Clip(clip, 0.0, 2.0, Crop(0.0, 0.0, 0.05, 1.0)),
        Clip(clip, 0.5, 1.5),
        Clip(short),
        Clip(tmp_path / "caf\udce9.mp4"),
    ]
    assert check(clips, store) == {
        **dict.fromkeys((1, 2, 3), "unreadable"),
        4: "missing",
        5: "too_long",
        6: "outside",
        7: "bad_span",
        8: "past_end",
        9: "too_small",
        12: "unreadable",
    }


def test_a_header_that_promises_too_much_is_not_believed(tmp_path: Path, long_clip: Path, store: FrameStore) -> None:
    """The file claims 16 s and holds less than 10: a run gets frames of it, so it is not refused as too long."""
    path = tmp_path / "cut.mp4"
    whole = moov_first(long_clip.read_bytes())
    path.write_bytes(whole[: len(whole) // 3])
    assert isinstance(extract([Clip(path)], SETTINGS, store)[0], tuple)
    assert check([Clip(path)], store) == {}


@settings(max_examples=25)
@given(
    spans=st.lists(
        st.tuples(st.floats(-1.0, 20.0) | st.none(), st.floats(-1.0, 20.0) | st.none()), min_size=1, max_size=6
    )
)
def test_it_accuses_exactly_what_a_run_refuses(
    tmp_path_factory: pytest.TempPathFactory, long_clip: Path, spans: list[tuple[float | None, float | None]]
) -> None:
    store = FrameStore(tmp_path_factory.mktemp("frames"))
    clips = list(dict.fromkeys(Clip(long_clip, start, end) for start, end in spans))
    refused = {
        number: found.reason
        for number, found in enumerate(extract(clips, SETTINGS, store))
        if isinstance(found, ClipError)
    }
    assert check(clips, store) == refused


def test_each_file_is_told_once(tmp_path: Path, clip: Path, store: FrameStore) -> None:
    steps: list[tuple[int, int]] = []
    wanted = [*(Clip(clip, 0.0, float(end)) for end in (1, 2)), Clip(tmp_path / "gone.mp4")]
    examine(wanted, SETTINGS, store, lambda done, files: steps.append((done, files)))
    assert steps == [(1, 2), (2, 2)]


def test_turns_of_one_clip_are_named_together(clip: Path) -> None:
    turns = (
        Turn("Ana", "One two three.", clip=Clip(clip)),
        Turn("Ben", "Four.", clip=Clip(clip, 0.0, 1.0)),
        Turn("Ana", "Five.", clip=Clip(clip), start=10.0, end=12.5),
        Turn("Ben", "Six."),
    )
    found = wanted_clips(Corpus("mine", "all", (), (Dialogue("d", turns),), "0"))
    assert found == {Clip(clip): ["d/1", "d/3"], Clip(clip, 0.0, 1.0): ["d/2"]}


def test_clips_that_end_where_the_reply_starts_are_wanted_as_samples_show_them(clip: Path) -> None:
    turns = tuple(Turn("ab"[n % 2], f"turn {n}", None, Clip(clip, n, n + 1.5), n, n + 1.5) for n in range(4))
    made = Corpus("mine", "all", (), (Dialogue("d", (*turns, Turn("a", "alone"))),), "0")
    samples = select(made, protocol("all")).samples
    own = wanted_clips(made)
    assert ended_clips(own, samples, 1) == [Clip(clip, n, n + 1.0) for n in range(3)]
    assert ended_clips(own, samples, 0) == []
