"""IEMOCAP's video: which half of which file a turn's clip is, and which frames a run takes from a real one.

The film drawn here has two halves with their own frame codes, and turns that overlap; every sample's frames must come
from the speaker's half, from inside the turn, and from before the target.
"""

from pathlib import Path

import pytest

from mmerg.corpora.dialogue import Corpus, Crop, Sample
from mmerg.corpora.iemocap import LEFT, RIGHT, Iemocap
from mmerg.corpora.protocols import select
from mmerg.engine.keyframes import ClipPrefetcher, KeyframeSampler, clips_by_file
from mmerg.frames.picture import from_jpeg
from mmerg.frames.store import FrameStore
from mmerg.runs import events
from mmerg.settings.model import FramesSettings
from tests.composed import protocol
from tests.frames.clips import FPS, code, numbered
from tests.frames.clips import RIGHT as RIGHT_CODE

from .iemocap_builder import Builder, Said, Talk, improvised, played

SECONDS = 20
DRAWN = [
    Said("F", 0.4, 3.1),
    Said("M", 2.5, 5.0),  # overlaps the one before and the one after
    Said("F", 4.2, 9.0, label="xxx"),
    Said("M", 4.2, 6.0),  # starts with the one before, ends inside it
    Said("F", 9.0, 12.5, label="sad"),
    Said("M", 11.75, 13.0, label="ang"),
    Said("F", 12.02, 18.0, label="xxx"),  # inside the turn before
]


def crops(corpus: Corpus) -> list[list[Crop | None]]:
    assert all(turn.clip for dialogue in corpus.dialogues for turn in dialogue.turns)
    return [[turn.clip.crop for turn in dialogue.turns if turn.clip] for dialogue in corpus.dialogues]


@pytest.mark.parametrize(
    ("side", "wearer", "other"),
    [
        ("auto", LEFT, RIGHT),
        ("swapped", RIGHT, LEFT),
        ("left", LEFT, LEFT),
        ("full", None, None),
    ],
)
def test_the_one_who_wears_the_markers_is_on_the_left(
    tmp_path: Path, side: str, wearer: Crop | None, other: Crop | None
) -> None:
    base = Builder([improvised("Ses05F_impro01"), played("Ses05M_script01_1b")]).write(tmp_path)
    improvisation, play = crops(Iemocap(base, speaker_side=side).load())
    assert improvisation == [wearer, other, wearer, other, wearer]  # the woman begins, and wears them
    assert play == [wearer, other]  # the man begins, and wears them


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = Builder([Talk("Ses05F_impro01", DRAWN)]).write(tmp_path_factory.mktemp("drawn"))
    film = base / "Session5/dialog/avi/DivX/Ses05F_impro01.avi"
    film.unlink()
    numbered(film, SECONDS * FPS, "XVID")
    return base


def look(sample: Sample, sampler: KeyframeSampler) -> tuple[dict[int, list[int]], dict[int, str]]:
    """The codes seen of each turn, and why turns show nothing."""
    log: list[events.Event] = []
    state = sampler.initial_state(sample.scene, sample.dropped, vision=True, max_images=99, emit=log.append)
    seen: dict[int, list[int]] = {}
    for keyframe, image in zip(state.keyframes, state.images, strict=True):
        seen.setdefault(keyframe.turn, []).append(code(from_jpeg(image.data), halves=1))
    [event] = log
    assert isinstance(event, events.FramesTaken)
    return seen, {turn.turn: turn.problem for turn in event.turns if turn.problem}


def test_every_sample_sees_the_speakers_half_inside_the_turn_and_before_the_target(drawn: Path, tmp_path: Path) -> None:
    corpus = Iemocap(drawn, speaker_side="auto").load()
    samples = select(corpus, protocol("all")).samples
    assert len(samples) == len(DRAWN) - 1
    planned = clips_by_file(samples, last_turns=9)
    sampler = KeyframeSampler(
        FramesSettings(per_clip=4, long_side=320, max_frames=99, last_turns=9),
        FrameStore(tmp_path),
        ClipPrefetcher(planned),
    )
    together = 0
    for sample in samples:
        assert sample.target
        assert sample.target.start is not None
        seen, problems = look(sample, sampler)
        same_start = [n for n, t in enumerate(sample.scene.history, start=1) if t.start == sample.target.start]
        assert problems == dict.fromkeys(same_start, "could_show_target")
        together += len(same_start)
        assert set(seen) | set(problems) == set(range(1, len(sample.scene.history) + 1))
        for number, codes in seen.items():
            turn = sample.scene.history[number - 1]
            assert turn.start is not None
            assert turn.end is not None
            right = turn.speaker == "Man"
            assert all((shown >= RIGHT_CODE) == right for shown in codes)
            times = [(shown - RIGHT_CODE * right) / FPS for shown in codes]
            assert len(times) == 4
            assert turn.start <= min(times)
            assert max(times) < min(turn.end, sample.target.start)
    assert together == 1
