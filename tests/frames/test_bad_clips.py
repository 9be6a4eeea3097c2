"""Files and spans that give no frames, or fewer than they should."""

import os
import wave
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.corpora.dialogue import Clip, Crop
from mmerg.errors import ClipError
from mmerg.frames.extract import extract
from mmerg.frames.store import FrameStore
from mmerg.settings.model import FramesSettings
from tests.frames.clips import codes, moov_first, numbered

SETTINGS = FramesSettings()


def error_reason(outcome: object) -> str:
    assert isinstance(outcome, ClipError), outcome
    assert outcome.what
    assert outcome.hint
    return outcome.reason


def test_files_that_are_not_videos_are_unreadable(tmp_path: Path, clip100: Path, store: FrameStore) -> None:
    whole = clip100.read_bytes()
    contents = {
        "empty.mp4": b"",
        "text.mp4": b"This is a note about a clip, not the clip.\n" * 200,
        "noise.mp4": bytes(range(256)) * 64,
        "cut.mp4": whole[: len(whole) // 2],  # its table of contents was at the end
        "no_frames.mp4": moov_first(whole)[: -len(whole) + whole.index(b"mdat") + 4],
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    with wave.open(str(tmp_path / "sound.mp4"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(bytes(32000))
    (tmp_path / "folder.mp4").mkdir()
    names = [*contents, "sound.mp4", "folder.mp4"]
    outcomes = extract([Clip(tmp_path / name) for name in names], SETTINGS, store)
    reasons = {name: error_reason(outcome) for name, outcome in zip(names, outcomes, strict=True)}
    assert reasons == dict.fromkeys(names, "unreadable")


@settings(max_examples=6)
@given(
    container=st.sampled_from(["mp4", "avi"]),
    kept=st.floats(0.0, 1.0),
    hits=st.lists(st.tuples(st.floats(0.0, 1.0, exclude_max=True), st.integers(0, 255)), max_size=40),
)
def test_damage_does_not_affect_another_file(
    tmp_path_factory: pytest.TempPathFactory,
    clip100: Path,
    clip30_avi: Path,
    container: str,
    kept: float,
    hits: list[tuple[float, int]],
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    source = clip100 if container == "mp4" else clip30_avi
    data = bytearray(moov_first(source.read_bytes()) if container == "mp4" else source.read_bytes())
    for place, value in hits:
        data[int(place * len(data))] = value
    path = folder / f"damaged.{container}"
    path.write_bytes(data[: round(kept * len(data))])
    damaged, whole = extract([Clip(path, 0.2, 1.0), Clip(clip100, 0.2, 1.0)], SETTINGS, FrameStore(folder / "frames"))
    assert len(codes(whole, FrameStore(folder / "frames"))) == 4
    if isinstance(damaged, ClipError):
        assert error_reason(damaged) in {"unreadable", "empty", "outside", "too_small"}
    else:
        assert all(0.2 <= frame.time < 1.0 for frame in damaged)


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path, clip100: Path, store: FrameStore) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.mp4")
    try:
        path.write_bytes(clip100.read_bytes())
    except OSError:
        pytest.skip("this file system allows only UTF-8 names")
    outcomes = extract([Clip(path), Clip(tmp_path / "null\0.mp4"), Clip(clip100)], SETTINGS, store)
    assert [error_reason(outcome) for outcome in outcomes[:2]] == ["unreadable", "missing"]
    assert isinstance(outcomes[2], tuple)


def test_a_bad_clip_does_not_affect_others(tmp_path: Path, clip100: Path, store: FrameStore) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"bad")
    clips = [
        Clip(tmp_path / "bad.mp4"),
        Clip(clip100, 0.0, 1.0),
        Clip(clip100, 9.0, 10.0),
        Clip(tmp_path / "missing.mp4"),
        Clip(clip100, 2.0, 1.0),
        Clip(clip100, 1.0, 2.0, Crop(0.9, 0.0, 0.05, 1.0)),
        Clip(clip100, 1.0, 2.0),
    ]
    outcomes = extract(clips, SETTINGS, store)
    reasons = [error_reason(outcomes[index]) for index in (0, 2, 3, 4, 5)]
    assert reasons == ["unreadable", "outside", "missing", "bad_span", "too_small"]
    assert all(0 <= number < 25 for number in codes(outcomes[1], store))
    assert all(25 <= number < 50 for number in codes(outcomes[6], store))


@pytest.mark.parametrize(("limit", "expected"), [(1.0, "too_long"), (3.96, "too_long"), (4.0, "")])
def test_a_clip_longer_than_the_limit_is_refused(clip100: Path, store: FrameStore, limit: float, expected: str) -> None:
    (outcome,) = extract([Clip(clip100)], FramesSettings(max_seconds=limit), store)
    assert (error_reason(outcome) if isinstance(outcome, ClipError) else "") == expected


@pytest.mark.parametrize("end", [1.5, 75.0])
def test_a_clip_without_a_start_is_only_as_long_as_its_file(clip100: Path, store: FrameStore, end: float) -> None:
    """In MELD the reply may start minutes after a turn whose file is seconds long."""
    whole, cut = extract([Clip(clip100), Clip(clip100, None, end)], FramesSettings(max_seconds=4.0), store)
    assert len(codes(cut, store)) == 4
    assert (codes(cut, store) == codes(whole, store)) is (end >= 4.0)
    assert all(number < 25 * end for number in codes(cut, store))
    (outcome,) = extract([Clip(clip100, None, end)], FramesSettings(max_seconds=2.0), store)
    assert isinstance(outcome, tuple) is (end < 2.0)
    if isinstance(outcome, ClipError):
        assert outcome.reason == "too_long"


def test_a_span_far_past_the_end_of_its_file_is_refused(tmp_path: Path, store: FrameStore) -> None:
    path = numbered(tmp_path / "short.mp4", 20)
    rounded, wrong = extract([Clip(path, 0.4, 1.5), Clip(path, 0.4, 30.0)], SETTINGS, store)
    assert len(codes(rounded, store)) == 4
    assert all(10 <= number < 20 for number in codes(rounded, store))
    assert error_reason(wrong) == "past_end"


@pytest.mark.parametrize("container", ["mp4", "avi"])
def test_the_frames_of_a_truncated_file_are_spread_over_the_rest(
    tmp_path: Path, store: FrameStore, container: str
) -> None:
    path = numbered(tmp_path / f"clip.{container}", 100, "mp4v" if container == "mp4" else "MJPG", scene=int)
    data = moov_first(path.read_bytes()) if container == "mp4" else path.read_bytes()
    path.write_bytes(data[: round(len(data) * 0.7)])  # the header still claims 100 frames
    spans = [(None, None), (0.0, 3.0), (0.04, None)]
    for outcome in extract([Clip(path, start, end) for start, end in spans], SETTINGS, store):
        numbers = codes(outcome, store)
        assert len(numbers) == 4
        assert numbers == sorted(set(numbers))
        assert numbers[-1] - numbers[0] >= 100 * 0.7 / 4
