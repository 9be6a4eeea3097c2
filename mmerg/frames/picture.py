"""Pictures as arrays: crop, shrink, JPEG in and out.

A `Picture` is (height, width, 3) uint8 in BGR order. Nothing here knows of files or time.

    data = to_jpeg(shrink(picture, fitted(1280, 720, 448)), quality=85)
"""

from __future__ import annotations

from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mmerg.corpora.dialogue import Crop
from mmerg.errors import ClipError
from mmerg.frames.opencv import load_cv2

Picture: TypeAlias = NDArray[np.uint8]


def cropped(picture: Picture, crop: Crop | None) -> Picture:
    """A view of the part that `crop` names, its edges rounded to whole pixels and kept inside the picture."""
    if crop is None:
        return picture
    height, width = picture.shape[:2]
    left, right = (min(max(round(x * width), 0), width) for x in (crop.x, crop.x + crop.width))
    top, bottom = (min(max(round(y * height), 0), height) for y in (crop.y, crop.y + crop.height))
    return picture[top:bottom, left:right]


def fitted(width: int, height: int, long_side: int) -> tuple[int, int]:
    """(width, height) with the longer side at most `long_side` pixels and the proportions kept; never enlarged."""
    scale = min(1.0, long_side / max(width, height, 1))
    return round(width * scale), round(height * scale)


def halved(picture: Picture, below: int) -> Picture:
    """A copy, halved (2 by 2 pixels averaged, an odd last row or column dropped) until its long side is under `below`.

    OpenCV averages whole factors about ten times faster than it resizes to an arbitrary size.
    """
    cv2 = load_cv2()
    small = picture
    while max(small.shape[:2]) >= below and min(small.shape[:2]) >= 2:
        height, width = small.shape[0] // 2, small.shape[1] // 2
        small = cv2.resize(small[: height * 2, : width * 2], (width, height), interpolation=cv2.INTER_AREA)
    return small.copy() if small is picture else small


def shrink(picture: Picture, size: tuple[int, int]) -> Picture:
    """The picture at `size` (width, height), which must not be larger, each pixel the mean of the area it covers."""
    if (picture.shape[1], picture.shape[0]) == size:
        return picture
    cv2 = load_cv2()
    return cast(Picture, cv2.resize(picture, size, interpolation=cv2.INTER_AREA))


def to_jpeg(picture: Picture, quality: int) -> bytes:
    """The picture as a baseline JPEG of `quality` (0 to 100); the same picture gives the same bytes."""
    cv2 = load_cv2()
    _, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return bytes(data.tobytes())


def from_jpeg(data: bytes) -> Picture:
    """The picture in `data`. Raises ClipError `unreadable` where it is no picture."""
    cv2 = load_cv2()
    picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if picture is None:
        raise ClipError(
            "unreadable",
            f"{len(data)} bytes are not a JPEG picture",
            hint="clear the frame store's folder, so that frames are taken again",
        )
    return cast(Picture, picture)


def sharpness(grey: NDArray[np.uint8]) -> float:
    """Variance of the Laplacian of a grey picture (0 to 255): near 0 where it is blurred, higher with finer detail."""
    cv2 = load_cv2()
    _, deviation = cv2.meanStdDev(cv2.Laplacian(grey, cv2.CV_16S))
    return float(deviation[0][0]) ** 2
