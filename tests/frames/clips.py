"""Clips with numbered frames: black and white blocks along the bottom of each half encode the number.

The left half encodes the number of the frame, the right half the same plus 512. Above is a scene: a colour and a rough
texture, which may be blurred. Clips have 320x192 pixels and 25 frames a second, so frame n is shown at n / 25 s.
"""

import struct
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np

from mmerg.errors import ClipError
from mmerg.frames.picture import Picture, cv2, from_jpeg
from mmerg.frames.store import Frame, FrameStore

FPS = 25
WIDTH, HEIGHT = 320, 192
BITS = 10
COLOURS = ((60, 60, 190), (60, 190, 60), (190, 60, 60), (190, 190, 60))
RIGHT = 512  # added to the number in the right half


def picture(number: int, scene: int = 0, *, blurred: bool = False) -> Picture:
    image = _texture(scene, blurred=blurred).copy()
    block = WIDTH // 2 // BITS
    for half, value in enumerate((number, number + RIGHT)):
        for bit in range(BITS):
            left = half * WIDTH // 2 + bit * block
            image[-32:, left : left + block] = 255 * (value >> bit & 1)
    return image


@cache
def _texture(scene: int, *, blurred: bool) -> Picture:
    rng = np.random.default_rng(scene)
    rough = rng.integers(-60, 60, (48, 80, 1)) + np.array(COLOURS[scene % len(COLOURS)])
    image = cv2.resize(rough.clip(0, 255).astype(np.uint8), (WIDTH, HEIGHT), interpolation=cv2.INTER_NEAREST)
    return np.asarray(cv2.GaussianBlur(image, (0, 0), 4) if blurred else image)


def code(picture: Picture, *, halves: int = 2) -> int:
    """Decodes the number in the left half of a picture, or in all of it if it is only one half (halves=1)."""
    height, width = picture.shape[:2]
    block = width / halves / BITS
    row = picture[round(height - height / 12)]
    return sum(int(row[round((bit + 0.5) * block)].mean() > 127) << bit for bit in range(BITS))


def codes(outcome: tuple[Frame, ...] | ClipError, store: FrameStore, *, halves: int = 2) -> list[int]:
    """Decodes the numbers of extracted frames. Fails if the outcome is an error."""
    assert isinstance(outcome, tuple), outcome
    return [code(from_jpeg(store.read(frame.sha256)), halves=halves) for frame in outcome]


def write(path: Path, pictures: Iterable[Picture], fourcc: str = "mp4v") -> Path:
    """Writes a video file of `pictures`. The name of the file decides the container."""
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*fourcc), FPS, (WIDTH, HEIGHT))
    assert writer.isOpened()
    for image in pictures:
        writer.write(image)
    writer.release()
    return path


def numbered(path: Path, count: int, fourcc: str = "mp4v", scene: Callable[[int], int] = lambda _: 0) -> Path:
    """Writes a video file of frames 0 to `count` - 1."""
    return write(path, (picture(number, scene(number)) for number in range(count)), fourcc)


def moov_first(data: bytes) -> bytes:
    """Moves the table of contents of an mp4 file to the front, so that the file still opens after it is cut off."""
    boxes: dict[bytes, bytes] = {}
    position = 0
    while position < len(data):
        size, kind = struct.unpack(">I4s", data[position : position + 8])
        boxes[kind] = data[position : position + size]
        position += size
    moov = bytearray(boxes.pop(b"moov"))
    table = moov.index(b"stco") + 8  # chunk offsets from the start of the file, which grow by the size of the table
    (count,) = struct.unpack(">I", moov[table : table + 4])
    for entry in range(table + 4, table + 4 + 4 * count, 4):
        (offset,) = struct.unpack(">I", moov[entry : entry + 4])
        moov[entry : entry + 4] = struct.pack(">I", offset + len(moov))
    return boxes.pop(b"ftyp") + bytes(moov) + b"".join(boxes.values())
