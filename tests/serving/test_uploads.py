"""What clients send is decoded in a process of its own, under limits."""

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest

from mmerg.backends.stop import Stop
from mmerg.corpora.dialogue import Clip
from mmerg.corpora.folder import demo_root
from mmerg.errors import CallError, ClipError, Failure
from mmerg.frames.extract import extract
from mmerg.frames.store import HeldFrames
from mmerg.serving.uploads import Upload, Uploads, decode
from mmerg.settings.model import FramesSettings
from tests.serving.scripts import picture

CLIP = demo_root() / "fine_1.mp4"


def png(width: int, height: int, rows: bytes) -> bytes:
    """A grey PNG that says it has this size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def test_a_clip_gives_the_frames_that_it_gives_a_run() -> None:
    store = HeldFrames()
    [straight] = extract([Clip(CLIP)], FramesSettings(), store)
    assert not isinstance(straight, ClipError)
    decoded = decode([Upload("clip", CLIP.read_bytes())], FramesSettings())
    assert not any(isinstance(one, ClipError) for one in decoded)
    jpegs = [one[1] for one in decoded if not isinstance(one, ClipError)]
    assert jpegs == [store.read(frame.sha256) for frame in straight]


def test_hostile_pictures_are_errors_and_cost_the_others_of_their_turn_nothing() -> None:
    hostile = {
        png(1, 4000, bytes(2 * 4000)): "too_small",
        b"\xff\xd8\xff" + b"\x00" * 100: "unreadable",
        b"GIF89a": "unreadable",
    }
    *errors, good = decode([Upload("picture", data) for data in (*hostile, picture())], FramesSettings())
    assert [error.reason for error in errors if isinstance(error, ClipError)] == list(hostile.values())
    assert not isinstance(good, ClipError)


def test_pictures_that_end_the_process_cost_the_others_of_their_turn_nothing() -> None:
    place, store = Path("turn 1"), HeldFrames()
    hostile = (png(9000, 9000, bytes(9001 * 9000)), png(65000, 65000, b""))  # the first: 81 million pixels in 80 kB
    uploads = Uploads({place: [Upload("picture", data) for data in (*hostile, picture())]})
    uploads.take(FramesSettings())
    [frames] = uploads.extract([Clip(place)], FramesSettings(), store)
    assert isinstance(frames, tuple)
    assert [(frame.width, frame.height) for frame in frames] == [(160, 120)]
    assert "export it as JPEG" in uploads.problems()["turn 1"]


def test_a_clip_that_is_too_long_is_an_error() -> None:
    [error] = decode([Upload("clip", CLIP.read_bytes())], FramesSettings(max_seconds=0.5))
    assert isinstance(error, ClipError)
    assert error.reason == "too_long"


def test_a_clip_that_says_it_is_huge_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "huge.avi"
    writer = cv2.VideoWriter(str(file), cv2.VideoWriter.fourcc(*"MJPG"), 10, (160, 120))
    for grey in range(0, 200, 20):
        writer.write(np.full((120, 160, 3), grey, np.uint8))
    writer.release()
    own, huge = struct.pack(">HH", 120, 160), struct.pack(">HH", 60000, 60000)
    parts = file.read_bytes().split(b"\xff\xc0\x00\x11\x08" + own)  # of each picture the size
    assert len(parts) == 11
    hostile = [(b"\xff\xc0\x00\x11\x08" + huge).join(parts), b"".join(parts)]
    errors = decode([Upload("clip", data) for data in hostile], FramesSettings())
    assert [error.reason for error in errors if isinstance(error, ClipError)] == ["unreadable"] * 2


def test_a_clip_that_takes_too_long_is_an_error() -> None:
    [error] = decode([Upload("clip", CLIP.read_bytes())], FramesSettings(), seconds=0.1)
    assert isinstance(error, ClipError)
    assert error.what == "it cannot be decoded within 0.1 s"


def test_who_decodes_has_bounds_on_memory_and_time() -> None:
    tried = (
        "import resource; from mmerg.serving.decoder import limit; limit(); "
        "print(*resource.getrlimit(resource.RLIMIT_CPU)); bytearray(5 * 2**30)"
    )
    done = subprocess.run([sys.executable, "-c", tried], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("30 30\n", 1)
    assert "MemoryError" in done.stderr


def test_nobody_decodes_for_one_who_is_gone() -> None:
    stop = Stop()
    stop.set()
    with stop.over_this_thread(), pytest.raises(CallError) as broken:
        decode([Upload("clip", CLIP.read_bytes())], FramesSettings())
    assert broken.value.failure is Failure.INTERRUPTED
