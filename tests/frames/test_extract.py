"""Keyframes are extracted from clips with numbered frames."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mmerg.corpora.dialogue import Clip, Crop
from mmerg.errors import ClipError
from mmerg.frames.extract import extract
from mmerg.frames.picture import from_jpeg
from mmerg.frames.store import Frame, FrameStore
from mmerg.settings.model import FramesSettings
from tests.frames.clips import FPS, RIGHT, codes, numbered, picture, write

LEFT_HALF, RIGHT_HALF = Crop(0.0, 0.0, 0.5, 1.0), Crop(0.5, 0.0, 0.5, 1.0)
SETTINGS = FramesSettings()
# In hundredths of a second. The shared clip has a frame at every fourth.
hundredths = st.none() | st.integers(0, 450)


def seconds(value: int | None) -> float | None:
    return None if value is None else value / 100


@settings(max_examples=6)
@given(start=hundredths, end=hundredths, method=st.sampled_from(["representative", "uniform"]), k=st.integers(1, 6))
@example(start=100, end=104, method="representative", k=4)  # one frame; the next one is at the end
@example(start=101, end=104, method="representative", k=4)  # between two frames
@example(start=1, end=5, method="uniform", k=2)  # short: the frame that is shown at the start counts, too
@example(start=398, end=None, method="uniform", k=4)  # after the last frame, before the end of the file
def test_a_span_is_half_open_and_gives_as_many_frames_as_possible(
    clip100: Path, tmp_path_factory: pytest.TempPathFactory, start: int | None, end: int | None, method: str, k: int
) -> None:
    store = FrameStore(tmp_path_factory.mktemp("frames"))
    frames = FramesSettings(per_clip=k, method="uniform" if method == "uniform" else "representative")
    (outcome,) = extract([Clip(clip100, seconds(start), seconds(end))], frames, store)
    inside = [number for number in range(100) if (start or 0) <= 4 * number and (end is None or 4 * number < end)]
    if end is not None and end <= (start or 0):
        assert isinstance(outcome, ClipError)
        assert outcome.reason == "bad_span"
    elif (start or 0) >= 400:
        assert isinstance(outcome, ClipError)
        assert outcome.reason == "outside"
    elif start is not None and end is not None and end > 500:
        assert isinstance(outcome, ClipError)
        assert outcome.reason == "past_end"
    elif not inside:  # the frame that is shown at the start
        assert codes(outcome, store) == [(start or 0) // 4]
    else:
        numbers = codes(outcome, store)
        assert min(k, len(inside)) <= len(numbers) <= k
        assert numbers == sorted(set(numbers))
        assert set(numbers) <= {(start or 0) // 4, *inside}


def test_a_crop_shows_its_part_of_the_picture(clip100: Path, store: FrameStore) -> None:
    left, right, whole = extract(
        [Clip(clip100, 1.0, 3.0, LEFT_HALF), Clip(clip100, 1.0, 3.0, RIGHT_HALF), Clip(clip100, 1.0, 3.0)],
        SETTINGS,
        store,
    )
    assert isinstance(right, tuple)
    assert {(frame.width, frame.height) for frame in right} == {(160, 192)}
    assert all(25 <= number < 75 for number in codes(left, store, halves=1))
    assert all(25 + RIGHT <= number < 75 + RIGHT for number in codes(right, store, halves=1))
    assert all(25 <= number < 75 for number in codes(whole, store))


def test_frames_are_shrunk_to_the_long_side_and_never_enlarged(clip100: Path, store: FrameStore) -> None:
    for long_side, size in ((100, (100, 60)), (319, (319, 191)), (2000, (320, 192))):
        (outcome,) = extract([Clip(clip100)], FramesSettings(long_side=long_side), store)
        assert isinstance(outcome, tuple)
        for frame in outcome:
            image = from_jpeg(store.read(frame.sha256))
            assert (frame.width, frame.height) == size == (image.shape[1], image.shape[0])
        numbers = codes(outcome, store)
        assert [frame.time for frame in outcome] == pytest.approx([number / FPS for number in numbers])


def test_every_scene_of_a_clip_with_cuts_is_shown_and_blurred_frames_are_avoided(
    tmp_path: Path, store: FrameStore
) -> None:
    lengths = (40, 20, 30, 30)  # of the scenes, in frames; the first half of each is blurred
    starts = [0, 40, 60, 90]
    frames = [
        picture(starts[scene] + index, scene, blurred=index < length // 2)
        for scene, length in enumerate(lengths)
        for index in range(length)
    ]
    (outcome,) = extract([Clip(write(tmp_path / "cuts.mp4", frames))], SETTINGS, store)
    numbers = codes(outcome, store)
    for number, start, length in zip(numbers, starts, lengths, strict=True):
        assert start + length // 2 <= number < start + length


def test_uniform_frames_are_near_the_middles_of_equal_windows(clip100: Path, store: FrameStore) -> None:
    (outcome,) = extract([Clip(clip100)], FramesSettings(method="uniform"), store)
    spacing = 100 / 16  # frames between two candidates
    assert codes(outcome, store) == pytest.approx([12.5, 37.5, 62.5, 87.5], abs=spacing)


def test_clips_give_the_same_bytes_together_and_alone(clip100: Path, tmp_path: Path, store: FrameStore) -> None:
    others = [numbered(tmp_path / f"{name}.mp4", 20 + 10 * name) for name in range(2)]
    clips = [Clip(path) for path in (clip100, *others)]
    together = extract(clips, SETTINGS, store)
    alone: list[tuple[Frame, ...] | ClipError] = []
    for number, clip in enumerate(clips):
        alone += extract([clip], SETTINGS, FrameStore(tmp_path / f"alone{number}"))
    assert together == alone
