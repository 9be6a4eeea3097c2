"""Functions that crop, shrink, encode and combine pictures. No other module imports OpenCV.

data = to_jpeg(shrink(picture, fit_size(1280, 720, 448)), quality=85)
"""

import importlib
import math
import os
import threading
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mmerg.corpora.dialogue import Crop
from mmerg.errors import ClipError

Picture: TypeAlias = NDArray[np.uint8]  # (height, width, 3), in BGR order


class _OpenCV:
    """The module `cv2`, imported on first use, without its messages about damaged pictures."""

    # While it is imported, cv2 is missing from sys.modules for a moment, so another thread could get half of it.
    _loading = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        os.environ.setdefault("OPENCV_LOG_LEVEL", "FATAL")
        with self._loading:
            return getattr(importlib.import_module("cv2"), name)


cv2 = _OpenCV()


def crop_picture(picture: Picture, crop: Crop | None) -> Picture:
    """Returns a view of the part of the picture in `crop`, with edges rounded to whole pixels inside the picture."""
    if crop is None:
        return picture
    height, width = picture.shape[:2]
    left, right = (max(round(x * width), 0) for x in (crop.x, crop.x + crop.width))
    top, bottom = (max(round(y * height), 0) for y in (crop.y, crop.y + crop.height))
    return picture[top:bottom, left:right]


def fit_size(width: int, height: int, long_side: int) -> tuple[int, int]:
    """Returns the size (width, height), scaled down so that the longer side is at most `long_side` pixels."""
    scale = min(1.0, long_side / max(width, height, 1))
    return round(width * scale), round(height * scale)


def halve_picture(picture: Picture, below: int) -> Picture:
    """Copies the picture, halved until its long side is shorter than `below` pixels. OpenCV averages 2 by 2 pixels ten
    times faster than it resizes to an arbitrary size. An odd last row or column is dropped."""
    small = picture
    while max(small.shape[:2]) >= below and min(small.shape[:2]) >= 2:
        height, width = small.shape[0] // 2, small.shape[1] // 2
        small = cv2.resize(small[: height * 2, : width * 2], (width, height), interpolation=cv2.INTER_AREA)
    return small.copy() if small is picture else small


def shrink(picture: Picture, size: tuple[int, int]) -> Picture:
    """Shrinks a picture to `size` (width, height). Each pixel is the mean of its area."""
    if (picture.shape[1], picture.shape[0]) == size:
        return picture
    return cast(Picture, cv2.resize(picture, size, interpolation=cv2.INTER_AREA))


def to_jpeg(picture: Picture, quality: int) -> bytes:
    """Encodes a picture as a baseline JPEG of `quality` (0 to 100). The same picture gives the same bytes."""
    _, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return bytes(data.tobytes())


def from_jpeg(data: bytes) -> Picture:
    """Decodes a picture. Raises ClipError `unreadable` if `data` is not a picture."""
    picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if picture is None:
        hint = "remove the frame store's folder; frames are then extracted again"
        raise ClipError("unreadable", f"{len(data)} bytes are not a JPEG image", hint=hint)
    return cast(Picture, picture)


def put_on_white(picture: NDArray[np.uint8]) -> Picture:
    """Puts a picture with an alpha channel (height, width, 4) on a white background, as viewers do."""
    alpha = picture[:, :, 3:].astype(np.uint16)
    return cast(Picture, ((picture[:, :, :3] * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8))


def measure_sharpness(grey: NDArray[np.uint8]) -> float:
    """Returns the variance of the Laplacian of a grey picture (0 to 255): near 0 if blurred, high with fine detail."""
    _, deviation = cv2.meanStdDev(cv2.Laplacian(grey, cv2.CV_16S))
    return float(deviation[0][0]) ** 2


def make_montage(jpegs: Sequence[bytes], long_side: int, quality: int) -> bytes:
    """Combines frames in one JPEG whose long side has at most `long_side` pixels, for models that take a single image.
    The frames are in a grid, from left to right and top to bottom. Each has its number from 1 in its top left corner.
    Raises ClipError `unreadable` if any of `jpegs` is not a picture."""
    pictures = [from_jpeg(data) for data in jpegs]
    width, height = max(p.shape[1] for p in pictures), max(p.shape[0] for p in pictures)
    count = len(pictures)
    # The grid closest to a square, with fewer columns on a tie.
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
        _draw_number(cell, index + 1)
    return to_jpeg(sheet, quality)


def _draw_number(cell: Picture, number: int) -> None:
    """Draws a number in white on a black box. Digits are a ninth of the cell high, but at least 14 pixels."""
    height = max(14, cell.shape[0] // 9)
    edge = max(3, height // 4)
    scale = cv2.getFontScaleFromHeight(cv2.FONT_HERSHEY_SIMPLEX, height, 2)
    (width, _), _ = cv2.getTextSize(str(number), cv2.FONT_HERSHEY_SIMPLEX, scale, 2)
    cell[: height + 2 * edge, : width + 2 * edge] = 0
    label = np.ascontiguousarray(cell)  # putText needs a contiguous array, and the cell is a view
    place, white = (edge, height + edge), (255, 255, 255)
    cv2.putText(label, str(number), place, cv2.FONT_HERSHEY_SIMPLEX, scale, white, 2, cv2.LINE_AA)
    cell[:] = label
