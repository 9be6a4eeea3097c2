"""Keyframes of scenes: their number, images, montages, descriptions, and turns without frames."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.corpora.dialogue import Clip, Sample, Scene, Turn
from mmerg.engine.keyframes import KeyframeSampler, limit_frames, shuffle_clips
from mmerg.engine.prompts import get_frames_form
from mmerg.engine.state import State
from mmerg.errors import ConfigError
from mmerg.frames.picture import from_jpeg
from mmerg.frames.store import Frame, FrameStore
from mmerg.runs import events
from mmerg.settings.model import FramesSettings
from tests.frames.clips import numbered


def make_frames(count: int) -> tuple[Frame, ...]:
    return tuple(Frame(sha256=f"{n:064x}", source="c.mp4", time=n / 10, width=64, height=48) for n in range(count))


FRAMES = st.dictionaries(st.integers(1, 30), st.integers(0, 12).map(make_frames), max_size=6)


@given(FRAMES, st.integers(1, 20))
def test_late_turns_get_frames_first_and_evenly_spread(frames: dict[int, tuple[Frame, ...]], bound: int) -> None:
    kept, left = limit_frames(frames, bound), bound
    assert list(kept) == sorted(kept)
    for number in sorted(frames, reverse=True):
        assert len(kept.get(number, ())) == min(left, len(frames[number]))
        left -= len(kept.get(number, ()))
    for number, some in kept.items():
        places = [frames[number].index(frame) for frame in some]
        gaps = [b - a for a, b in pairwise(places)]
        assert all(gap > 0 for gap in gaps)
        assert max(gaps, default=0) - min(gaps, default=0) <= 1
        assert abs(places[0] - (len(frames[number]) - 1 - places[-1])) <= 1  # as far from the start as from the end


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three clips with different scenes, a file that is no video, and a missing file."""
    folder = tmp_path_factory.mktemp("clips")
    made = {name: numbered(folder / f"{name}.avi", 30, "MJPG", scenes) for name, scenes in SCENES.items()}
    (folder / "bad.mp4").write_bytes(b"this is no video")
    return made | {"bad": folder / "bad.mp4", "gone": folder / "gone.mp4"}


SCENES: dict[str, Callable[[int], int]] = {
    "one": lambda number: number // 10,
    "two": lambda number: 3 + number // 10,
    "three": lambda number: 6 + number // 10,
}


def sample(*paths: Path | None, dropped: tuple[int, ...] = ()) -> Sample:
    """A sample with a turn for each path; None: no clip."""
    turns = tuple(Turn("Ana", f"turn {n}", clip=Clip(path) if path else None) for n, path in enumerate(paths, start=1))
    return Sample(Scene("d/9", turns, "Ben", ("joy",)), "d", Turn("Ben", "hidden"), dropped)


FEW_FRAMES = {"per_clip": 2, "long_side": 96, "last_turns": 3}


class Sampled:
    """The initial state of a sample and its event."""

    def __init__(
        self, sample: Sample, folder: Path, *, vision: bool = True, max_images: int = 8, **own: int | str
    ) -> None:
        log: list[events.Event] = []
        sampler = KeyframeSampler(FramesSettings.model_validate(FEW_FRAMES | own), FrameStore(folder))
        self.store = sampler.store
        self.state: State = sampler.initial_state(
            sample.scene, sample.dropped, vision=vision, max_images=max_images, emit=log.append
        )
        [event] = log
        assert isinstance(event, events.FramesTaken)
        assert event.sample == sample.id
        self.event = event

    @property
    def turns(self) -> list[int]:
        return [keyframe.turn for keyframe in self.state.keyframes]

    @property
    def problems(self) -> dict[int, str]:
        return {turn.turn: turn.problem for turn in self.event.turns if turn.problem}


def test_a_model_with_vision_gets_images(clips: dict[str, Path], tmp_path: Path) -> None:
    sampled = Sampled(sample(clips["one"], None, clips["two"]), tmp_path)
    assert sampled.turns == [1, 1, 3, 3]
    assert [image.sha256 for image in sampled.state.images] == [k.frame.sha256 for k in sampled.state.keyframes]
    assert [image.data for image in sampled.state.images] == [
        sampled.store.read(k.frame.sha256) for k in sampled.state.keyframes
    ]
    assert {k.description for k in sampled.state.keyframes} == {""}
    assert [k.frame.source for k in sampled.state.keyframes] == ["one.avi", "one.avi", "two.avi", "two.avi"]
    assert sampled.event.form == get_frames_form(sampled.state) == "images"
    assert [(t.turn, len(t.frames), t.descriptions, t.problem) for t in sampled.event.turns] == [
        (1, 2, (), ""),
        (2, 0, (), ""),
        (3, 2, (), ""),
    ]


def test_a_model_that_takes_one_image_gets_a_grid(clips: dict[str, Path], tmp_path: Path) -> None:
    sampled = Sampled(sample(clips["one"], clips["two"]), tmp_path, max_images=1)
    assert sampled.turns == [1, 1, 2, 2]
    [grid] = sampled.state.images
    assert grid.sha256 not in {k.frame.sha256 for k in sampled.state.keyframes}
    height, width = from_jpeg(grid.data).shape[:2]
    frame = sampled.state.keyframes[0].frame
    assert (width, height) == (2 * frame.width, 2 * frame.height)
    assert sampled.event.form == "montage"


def test_a_model_without_vision_gets_descriptions_and_no_image(clips: dict[str, Path], tmp_path: Path) -> None:
    sampled = Sampled(sample(clips["one"], clips["two"]), tmp_path, vision=False, max_images=1)
    assert sampled.state.images == ()
    assert sampled.event.form == "descriptions"
    descriptions = [keyframe.description for keyframe in sampled.state.keyframes]
    assert all("brightness" in text for text in descriptions)
    # The first frame of each clip has no previous frame.
    assert ["changed by" in text for text in descriptions] == [False, True, False, True]
    assert [text for turn in sampled.event.turns for text in turn.descriptions] == descriptions


@pytest.mark.parametrize("vision", [True, False])
@pytest.mark.parametrize(("clip", "problem"), [("bad", "unreadable"), ("gone", "missing")])
def test_a_turn_with_a_bad_clip_has_no_frames(
    clips: dict[str, Path], tmp_path: Path, clip: str, problem: str, vision: bool
) -> None:
    sampled = Sampled(sample(clips["one"], clips[clip]), tmp_path, vision=vision)
    assert sampled.problems == {2: problem}
    assert sampled.turns == [1, 1]
    assert [turn.text for turn in sampled.state.scene.history] == ["turn 1", "turn 2"]


@pytest.mark.parametrize(
    ("vision", "max_images", "max_frames", "turns"),
    [
        (True, 3, 8, [2, 3, 3]),  # of the model
        (True, 8, 3, [2, 3, 3]),  # of the settings
        (True, 1, 5, [1, 2, 2, 3, 3]),  # a grid is one image
        (False, 1, 5, [1, 2, 2, 3, 3]),  # descriptions are no images
    ],
)
def test_the_settings_or_the_model_limit_the_frames(
    clips: dict[str, Path], tmp_path: Path, vision: bool, max_images: int, max_frames: int, turns: list[int]
) -> None:
    three = sample(clips["one"], clips["two"], clips["three"])
    sampled = Sampled(three, tmp_path, vision=vision, max_images=max_images, max_frames=max_frames)
    assert sampled.turns == turns
    assert len(sampled.state.images) <= max_images


def test_turns_over_budget_are_reported(clips: dict[str, Path], tmp_path: Path) -> None:
    sampled = Sampled(sample(clips["one"], clips["one"], clips["one"]), tmp_path, per_clip=2, max_frames=2)
    problems = {turn.turn: turn.problem for turn in sampled.event.turns}
    assert "over_budget" in problems.values()
    assert problems[max(problems)] == ""


def test_a_turn_that_loses_frames_keeps_its_apex() -> None:
    frames = tuple(
        frame.model_copy(update={"role": "apex of a face" if n == 3 else "context"})
        for n, frame in enumerate(make_frames(4))
    )
    assert limit_frames({1: frames}, 1) == {1: frames[3:]}
    assert frames[3] in limit_frames({1: frames}, 2)[1]


@pytest.mark.parametrize("vision", [True, False])
def test_blank_frames_are_grey(clips: dict[str, Path], tmp_path: Path, vision: bool) -> None:
    own = Sampled(sample(clips["one"], clips["two"]), tmp_path, vision=vision)
    blank = Sampled(sample(clips["one"], clips["two"]), tmp_path, vision=vision, show="blank")
    assert blank.turns == own.turns
    assert [k.frame.time for k in blank.state.keyframes] == [k.frame.time for k in own.state.keyframes]
    for keyframe in blank.state.keyframes:
        picture = from_jpeg(blank.store.read(keyframe.frame.sha256))
        assert picture.shape == (keyframe.frame.height, keyframe.frame.width, 3)
        assert picture.min() == picture.max() == 128


SHUFFLED = FramesSettings(show="shuffled", last_turns=2)


def talks(*counts: int) -> list[Sample]:
    """Samples of different conversations, with these numbers of clips."""
    samples = []
    for number, count in enumerate(counts):
        paths = [Path(f"/{number}/{turn}.mp4") for turn in range(count)]
        one = sample(*paths, None)
        scene = Scene(f"d{number}/9", one.scene.history, "Ben", ("joy",))
        samples.append(Sample(scene, f"d{number}", one.target, conversation=f"d{number}"))
    return samples


def test_shuffled_clips_come_from_another_conversation() -> None:
    own = talks(3, 1, 0, 2, 4)
    given = shuffle_clips(own, SHUFFLED)
    assert [one.id for one in given] == [one.id for one in own]
    for before, after in zip(own, given, strict=True):
        places = [turn.clip is None for turn in before.scene.history]
        assert [turn.clip is None for turn in after.scene.history] == places
        last, new = (one.scene.history[-2:] for one in (before, after))
        changed = [turn.clip for turn in new if turn.clip]
        assert not {clip.path.parent for clip in changed} & {turn.clip.path.parent for turn in last if turn.clip}
        assert [turn.text for turn in after.scene.history] == [turn.text for turn in before.scene.history]
    assert shuffle_clips(own, SHUFFLED) == given
    assert shuffle_clips(own, FramesSettings()) == tuple(own)


def test_one_conversation_cannot_be_shuffled() -> None:
    with pytest.raises(ConfigError, match="a single conversation"):
        shuffle_clips(talks(2), SHUFFLED)
    assert shuffle_clips(talks(0, 0), SHUFFLED) == tuple(talks(0, 0))
