"""Stored frames are used again until anything changes; then they are extracted again."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mmerg.corpora.dialogue import Clip, Crop
from mmerg.errors import ClipError
from mmerg.frames.extract import extract
from mmerg.frames.store import Frame, FrameStore, InMemoryFrameStore
from mmerg.settings.model import FramesSettings
from tests.frames.clips import numbered

SETTINGS = FramesSettings()


def extract_frames(clip: Clip, store: FrameStore, settings: FramesSettings = SETTINGS) -> tuple[Frame, ...]:
    (outcome,) = extract([clip], settings, store)
    assert isinstance(outcome, tuple), outcome
    return outcome


def test_frames_are_used_again_until_the_file_changes(tmp_path: Path, store: FrameStore) -> None:
    path = numbered(tmp_path / "clip.mp4", 30)
    first = extract_frames(Clip(path), store)
    status = path.stat()
    # The file has the same size and time, but cannot be decoded: the frames can only come from the index.
    path.write_bytes(bytes(status.st_size))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert extract_frames(Clip(path), FrameStore(store.folder)) == first
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    (outcome,) = extract([Clip(path)], SETTINGS, store)
    assert isinstance(outcome, ClipError)


def test_a_store_in_memory_has_the_same_frames_and_uses_them_again(clip30_avi: Path, store: FrameStore) -> None:
    in_memory = InMemoryFrameStore()
    first = extract_frames(Clip(clip30_avi), in_memory)
    files = dict(in_memory.files)
    assert extract_frames(Clip(clip30_avi), in_memory) == first == extract_frames(Clip(clip30_avi), store)
    assert in_memory.files == files
    assert not in_memory.folder.exists()


def test_another_span_crop_or_setting_gives_other_frames(clip30_avi: Path, store: FrameStore) -> None:
    clip = Clip(clip30_avi, 0.0, 1.0)
    variants = [
        (clip, SETTINGS),
        (replace(clip, start=0.04), SETTINGS),
        (replace(clip, crop=Crop(0.5, 0.0, 0.5, 1.0)), SETTINGS),
        *((clip, SETTINGS.model_copy(update=change)) for change in ({"per_clip": 3}, {"method": "uniform"})),
        *((clip, SETTINGS.model_copy(update=change)) for change in ({"long_side": 200}, {"jpeg_quality": 50})),
    ]
    for variant, settings in variants:
        extract_frames(variant, store, settings)
    assert len(list((store.folder / "clips").iterdir())) == len(variants)


@pytest.mark.parametrize("damage", [b"\xff\xd8 not what its name says", None])
def test_a_damaged_or_missing_jpeg_is_extracted_again(
    clip30_avi: Path, store: FrameStore, damage: bytes | None
) -> None:
    first = extract_frames(Clip(clip30_avi), store)
    blob = store.folder / "jpeg" / f"{first[2].sha256}.jpg"
    whole = blob.read_bytes()
    if damage is None:
        blob.unlink()
    else:
        blob.write_bytes(damage)
    with pytest.raises(ClipError) as caught:
        store.read(first[2].sha256)
    assert caught.value.reason == "lost"
    assert extract_frames(Clip(clip30_avi), store) == first
    assert store.read(first[2].sha256) == whole


@pytest.mark.parametrize("damage", [b"{", b'{"taken_from": "another clip", "frames": []}'])
def test_a_damaged_index_is_ignored(clip30_avi: Path, store: FrameStore, damage: bytes) -> None:
    first = extract_frames(Clip(clip30_avi), store)
    (entry,) = (store.folder / "clips").iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(damage)
    assert extract_frames(Clip(clip30_avi), store) == first
    assert entry.read_bytes() == whole


def test_only_the_user_can_read_frames(clip30_avi: Path, tmp_path: Path) -> None:
    store = FrameStore(tmp_path / "cache" / "frames")
    extract_frames(Clip(clip30_avi), store)
    paths = [store.folder.parent, *store.folder.parent.rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in paths if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in paths if path.is_file()} == {0o600}
