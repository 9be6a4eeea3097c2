"""Pictures as arrays: crop, shrink, JPEG in and out, and several in one grid. OpenCV is imported here alone.

data = to_jpeg(shrink(picture, fitted(1280, 720, 448)), quality=85)
"""

import importlib
import math
import os
import threading
import unicodedata
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mmerg.corpora.dialogue import Crop
from mmerg.errors import ClipError

Picture: TypeAlias = NDArray[np.uint8]  # (height, width, 3), in BGR order


class _OpenCV:
    """The module `cv2`, imported when it is first used, without the lines that it prints for damaged pictures."""

    # While it is imported, cv2 leaves sys.modules for a moment: a thread would get half of it.
    _loading = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        os.environ.setdefault("OPENCV_LOG_LEVEL", "FATAL")
        with self._loading:
            return getattr(importlib.import_module("cv2"), name)


cv2 = _OpenCV()


def cropped(picture: Picture, crop: Crop | None) -> Picture:
    """A view of the part that `crop` names, its edges rounded to whole pixels and kept inside the picture."""
    if crop is None:
        return picture
    height, width = picture.shape[:2]
    left, right = (max(round(x * width), 0) for x in (crop.x, crop.x + crop.width))
    top, bottom = (max(round(y * height), 0) for y in (crop.y, crop.y + crop.height))
    return picture[top:bottom, left:right]


def fitted(width: int, height: int, long_side: int) -> tuple[int, int]:
    """(width, height) with the longer side at most `long_side` pixels and the proportions kept; never enlarged."""
    scale = min(1.0, long_side / max(width, height, 1))
    return round(width * scale), round(height * scale)


def halved(picture: Picture, below: int) -> Picture:
    """A copy, halved until its long side is under `below`: OpenCV averages 2 by 2 pixels about ten times faster than it
    resizes to an arbitrary size. An odd last row or column is dropped."""
    small = picture
    while max(small.shape[:2]) >= below and min(small.shape[:2]) >= 2:
        height, width = small.shape[0] // 2, small.shape[1] // 2
        small = cv2.resize(small[: height * 2, : width * 2], (width, height), interpolation=cv2.INTER_AREA)
    return small.copy() if small is picture else small


def shrink(picture: Picture, size: tuple[int, int]) -> Picture:
    """The picture at `size` (width, height), which must not be larger, each pixel the mean of the area it covers."""
    if (picture.shape[1], picture.shape[0]) == size:
        return picture
    return cast(Picture, cv2.resize(picture, size, interpolation=cv2.INTER_AREA))


def to_jpeg(picture: Picture, quality: int) -> bytes:
    """The picture as a baseline JPEG of `quality` (0 to 100); the same picture gives the same bytes."""
    _, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return bytes(data.tobytes())


def from_jpeg(data: bytes) -> Picture:
    """The picture in `data`. Raises ClipError `unreadable` where it is no picture."""
    picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if picture is None:
        hint = "remove the frame store's folder; frames are then extracted again"
        raise ClipError("unreadable", f"{len(data)} bytes are not a JPEG image", hint=hint)
    return cast(Picture, picture)


def on_white(picture: NDArray[np.uint8]) -> Picture:
    """A picture with an alpha channel, (height, width, 4), as viewers show it: what is transparent is white."""
    alpha = picture[:, :, 3:].astype(np.uint16)
    return cast(Picture, ((picture[:, :, :3] * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8))


def sharpness(grey: NDArray[np.uint8]) -> float:
    """Variance of the Laplacian of a grey picture (0 to 255): near 0 where it is blurred, higher with finer detail."""
    _, deviation = cv2.meanStdDev(cv2.Laplacian(grey, cv2.CV_16S))
    return float(deviation[0][0]) ** 2


def captioned(data: bytes, caption: str, quality: int) -> bytes:
    """A JPEG with a caption in its top left corner. Raises ClipError `unreadable` where the bytes are no picture."""
    picture = from_jpeg(data)
    _write(picture, caption)
    return to_jpeg(picture, quality)


def montage(jpegs: Sequence[bytes], long_side: int, quality: int, captions: Sequence[str] = ()) -> bytes:
    """One JPEG of at most `long_side` pixels that holds all frames, for models that take a single image: a grid, left
    to right and top to bottom, each with its caption, or else its number (from 1), in its top left corner. Raises
    ClipError `unreadable` where bytes are no picture."""
    pictures = [from_jpeg(data) for data in jpegs]
    width, height = max(p.shape[1] for p in pictures), max(p.shape[0] for p in pictures)
    count = len(pictures)
    # The grid closest to a square; the fewer columns where two are as good.
    columns = min(range(1, count + 1), key=lambda n: (max(n * width, math.ceil(count / n) * height), n))
    rows = math.ceil(count / columns)
    scale = min(1.0, long_side / (columns * width), long_side / (rows * height))
    width, height = max(1, math.floor(width * scale)), max(1, math.floor(height * scale))
    sheet = np.zeros((rows * height, columns * width, 3), np.uint8)
    for index, picture in enumerate(pictures):
        top, left = index // columns * height, index % columns * width
        cell = sheet[top : top + height, left : left + width]
        scale = min(1.0, width / picture.shape[1], height / picture.shape[0])
        small = shrink(picture, (max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale))))
        top, left = (height - small.shape[0]) // 2, (width - small.shape[1]) // 2
        cell[top : top + small.shape[0], left : left + small.shape[1]] = small
        _write(cell, captions[index] if captions else str(index + 1))
    return to_jpeg(sheet, quality)


def _write(cell: Picture, text: str) -> None:
    """Burn `text` in white on a black box, about a ninth of the cell's height but never under 14 pixels, and narrower
    than the cell. The font has plain Latin letters alone: accents fall away, and other letters with them."""
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().strip()
    tall = max(14, cell.shape[0] // 9)
    edge = max(3, tall // 4)
    while True:
        scale = cv2.getFontScaleFromHeight(cv2.FONT_HERSHEY_SIMPLEX, tall, 2)
        (wide, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, 2)
        if wide + 2 * edge <= cell.shape[1] or not text:
            break
        tall, text = (tall - 1, text) if tall > 14 else (tall, text[:-1])
    cell[: tall + 2 * edge, : wide + 2 * edge] = 0
    label = np.ascontiguousarray(cell)  # putText wants an array of its own, and the cell is a view into the sheet
    cv2.putText(label, text, (edge, tall + edge), cv2.FONT_HERSHEY_SIMPLEX, scale, (255, 255, 255), 2, cv2.LINE_AA)
    cell[:] = label
