"""The clips of IEMOCAP: the half of the picture that a turn shows, and the frames that a run takes from a video.

The video made here has other frame codes in each half, and its turns overlap. Every frame of a sample must come from
the speaker's half, from inside the turn, and from before the target.
"""

from pathlib import Path
from typing import Literal

import pytest

from mmerg.corpora.dialogue import Corpus, Crop, Sample
from mmerg.corpora.iemocap import LEFT, RIGHT, Iemocap
from mmerg.corpora.protocols import select
from mmerg.engine.keyframes import ClipPrefetcher, KeyframeSampler, group_clips_by_file
from mmerg.frames.picture import from_jpeg
from mmerg.frames.store import FrameStore
from mmerg.runs import events
from mmerg.settings.model import FramesSettings
from tests.configs import build_protocol
from tests.frames.clips import FPS, code, numbered
from tests.frames.clips import RIGHT as RIGHT_CODE

from .iemocap_builder import Builder, Recording, Utterance, improvised, played

Side = Literal["full", "auto", "swapped", "left", "right"]
SECONDS = 20
UTTERANCES = [
    Utterance("F", 0.4, 3.1),
    Utterance("M", 2.5, 5.0),  # overlaps the turns before and after it
    Utterance("F", 4.2, 9.0, label="xxx"),
    Utterance("M", 4.2, 6.0),  # starts with the turn before and ends inside it
    Utterance("F", 9.0, 12.5, label="sad"),
    Utterance("M", 11.75, 13.0, label="ang"),
    Utterance("F", 12.02, 18.0, label="xxx"),  # inside the turn before
]


def crops(corpus: Corpus) -> list[list[Crop | None]]:
    assert all(turn.clip for dialogue in corpus.dialogues for turn in dialogue.turns)
    return [[turn.clip.crop for turn in dialogue.turns if turn.clip] for dialogue in corpus.dialogues]


@pytest.mark.parametrize(
    ("side", "with_markers", "other"),
    [
        ("auto", LEFT, RIGHT),
        ("swapped", RIGHT, LEFT),
        ("left", LEFT, LEFT),
        ("full", None, None),
    ],
)
def test_the_actor_with_the_markers_is_on_the_left(
    tmp_path: Path, side: Side, with_markers: Crop | None, other: Crop | None
) -> None:
    base = Builder([improvised("Ses05F_impro01"), played("Ses05M_script01_1b")]).write(tmp_path)
    improvisation, play = crops(Iemocap(base, speaker_side=side).load())
    assert improvisation == [with_markers, other, with_markers, other, with_markers]  # of the woman, who begins
    assert play == [with_markers, other]  # of the man, who begins


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = Builder([Recording("Ses05F_impro01", UTTERANCES)]).write(tmp_path_factory.mktemp("iemocap"))
    film = base / "Session5/dialog/avi/DivX/Ses05F_impro01.avi"
    film.unlink()
    numbered(film, SECONDS * FPS, "XVID")
    return base


def sample_codes(sample: Sample, sampler: KeyframeSampler) -> tuple[dict[int, list[int]], dict[int, str]]:
    """The frame codes of each turn, and the problem of each turn without frames."""
    log: list[events.Event] = []
    state = sampler.initial_state(sample.scene, sample.dropped, vision=True, max_images=99, emit=log.append)
    codes: dict[int, list[int]] = {}
    for keyframe, image in zip(state.keyframes, state.images, strict=True):
        codes.setdefault(keyframe.turn, []).append(code(from_jpeg(image.data), halves=1))
    [event] = log
    assert isinstance(event, events.FramesTaken)
    return codes, {turn.turn: turn.problem for turn in event.turns if turn.problem}


def test_frames_are_of_the_speakers_half_inside_the_turn_and_before_the_target(root: Path, tmp_path: Path) -> None:
    corpus = Iemocap(root, speaker_side="auto").load()
    samples = select(corpus, build_protocol("all")).samples
    assert len(samples) == len(UTTERANCES) - 1
    planned = group_clips_by_file(samples, last_turns=9)
    sampler = KeyframeSampler(
        FramesSettings(per_clip=4, long_side=320, max_frames=99, last_turns=9),
        FrameStore(tmp_path),
        ClipPrefetcher(planned),
    )
    could_show_target = 0
    for sample in samples:
        assert sample.target
        assert sample.target.start is not None
        codes_by_turn, problems = sample_codes(sample, sampler)
        same_start = [n for n, t in enumerate(sample.scene.history, start=1) if t.start == sample.target.start]
        assert problems == dict.fromkeys(same_start, "could_show_target")
        could_show_target += len(same_start)
        assert set(codes_by_turn) | set(problems) == set(range(1, len(sample.scene.history) + 1))
        for number, codes in codes_by_turn.items():
            turn = sample.scene.history[number - 1]
            assert turn.start is not None
            assert turn.end is not None
            right = turn.speaker == "Man"
            assert all((frame_code >= RIGHT_CODE) == right for frame_code in codes)
            times = [(frame_code - RIGHT_CODE * right) / FPS for frame_code in codes]
            assert len(times) == 4
            assert turn.start <= min(times)
            assert max(times) < min(turn.end, sample.target.start)
    assert could_show_target == 1
