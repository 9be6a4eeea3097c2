"""Clips and pictures that clients send become keyframes; bad and huge ones become errors."""

import struct
import zlib
from io import BytesIO
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from pillow_heif import from_pillow, register_heif_opener

from mmerg.corpora.dialogue import Clip
from mmerg.corpora.folder import demo_root
from mmerg.engine.uploads import Upload, Uploads
from mmerg.errors import ClipError
from mmerg.frames.extract import Outcome, extract
from mmerg.frames.picture import from_jpeg
from mmerg.frames.store import InMemoryFrameStore
from mmerg.settings.model import FramesSettings
from tests.serving.scripts import picture

CLIP, PLACE = demo_root() / "fine_1.mp4", Path("turn 1")


def png(width: int, height: int, rows: bytes) -> bytes:
    """A grey PNG whose header names this size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def decode(*sent: Upload, settings: FramesSettings = FramesSettings()) -> tuple[Outcome, str, InMemoryFrameStore]:  # noqa: B008
    """The keyframes of a turn's files, or the error; their problems; and the store."""
    turn, store = Uploads({PLACE: sent}), InMemoryFrameStore()
    [outcome] = turn.extract([Clip(PLACE)], settings, store)
    return outcome, turn.problems.get(str(PLACE), ""), store


def reason(*sent: Upload, settings: FramesSettings = FramesSettings()) -> str:  # noqa: B008
    outcome, _, _ = decode(*sent, settings=settings)
    assert isinstance(outcome, ClipError)
    return outcome.reason


def test_a_clip_gives_the_same_frames_as_in_a_run() -> None:
    own, (frames, problems, store) = InMemoryFrameStore(), decode(Upload("clip", CLIP.read_bytes()))
    [straight] = extract([Clip(CLIP)], FramesSettings(), own)
    assert isinstance(straight, tuple)
    assert isinstance(frames, tuple)
    assert problems == ""
    assert [store.read(frame.sha256) for frame in frames] == [own.read(frame.sha256) for frame in straight]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_pictures_are_rotated_by_exif(kind: str) -> None:
    exif, file = Image.Exif(), BytesIO()
    exif[0x0112] = 6
    Image.new("RGB", (64, 40)).save(file, kind, exif=exif)
    frames, _, _ = decode(Upload("picture", file.getvalue()))
    assert isinstance(frames, tuple)
    assert (frames[0].width, frames[0].height) == (40, 64)


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "GIF", "HEIF"])
def test_transparent_areas_are_white(kind: str) -> None:
    register_heif_opener()
    drawing, data = Image.new("RGBA", (64, 64), (200, 0, 0, 0)), BytesIO()
    drawing.paste((0, 0, 0, 255), (16, 16, 48, 48))
    drawing.save(data, kind)
    frames, problems, store = decode(Upload("picture", data.getvalue()))
    assert isinstance(frames, tuple), problems
    shown = from_jpeg(store.read(frames[0].sha256))
    assert (shown[4, 4].min() > 240, shown[32, 32].max() < 15) == (True, True)


def test_files_are_recognised_by_content() -> None:
    data = BytesIO()
    from_pillow(Image.new("RGB", (64, 64))).save(data)
    assert (Upload.detect(data.getvalue()).kind, Upload.detect(b"no picture").kind) == ("picture", "clip")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (png(1, 4000, bytes(2 * 4000)), "a picture of 1x4000 pixels is too small"),
        (b"\xff\xd8\xff" + b"\x00" * 100, "a picture cannot be decoded"),
        (png(9000, 9000, bytes(9001 * 9000)), "a picture of 9000x9000 pixels is over 50 megapixels"),  # in 80 kB
        (png(12000, 12000, b""), "a picture cannot be decoded"),  # Pillow warns of it
    ],
)
def test_a_bad_or_huge_picture_does_not_affect_others(data: bytes, problem: str) -> None:
    frames, problems, _ = decode(Upload("picture", data), Upload("picture", picture()))
    assert isinstance(frames, tuple)
    assert [(frame.width, frame.height) for frame in frames] == [(160, 120)]
    assert problems.startswith(problem)


def test_a_clip_that_is_too_long_or_too_large_is_an_error(tmp_path: Path) -> None:
    clip = Upload("clip", CLIP.read_bytes())
    assert reason(clip, settings=FramesSettings(max_seconds=0.5)) == "too_long"
    file = tmp_path / "large.avi"
    writer = cv2.VideoWriter(str(file), cv2.VideoWriter.fourcc(*"MJPG"), 10, (4000, 2400))
    writer.write(np.zeros((2400, 4000, 3), np.uint8))
    writer.release()
    outcome, problems, _ = decode(Upload("clip", file.read_bytes()))
    assert isinstance(outcome, ClipError)
    assert "a clip of 4000x2400 pixels is over 9 megapixels" in problems
