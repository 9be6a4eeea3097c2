"""Several frames in one picture, for models that take a single image.

The frames stand in a grid, left to right and top to bottom, each with its number (from 1) burnt into its top left
corner, so that a prompt can still name them. Knows nothing of what the frames show.

    data = montage([store.read(frame.sha256) for frame in frames], long_side=896, quality=85)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mmerg.errors import ClipError
from mmerg.frames.opencv import load_cv2
from mmerg.frames.picture import Picture, fitted, from_jpeg, shrink, to_jpeg


def montage(jpegs: Sequence[bytes], long_side: int, quality: int) -> bytes:
    """One JPEG of at most `long_side` pixels that holds all frames; they are shrunk to fit but never enlarged.

    Frames of other proportions than the largest stand in the middle of their cell, on black.
    Raises ClipError: empty where there are no frames, unreadable where bytes are no picture.
    """
    if not jpegs:
        raise ClipError("empty", "a montage needs at least one frame", hint="leave out turns without frames")
    pictures = [from_jpeg(data) for data in jpegs]
    width, height = max(p.shape[1] for p in pictures), max(p.shape[0] for p in pictures)
    columns = _columns(len(pictures), width, height)
    rows = math.ceil(len(pictures) / columns)
    scale = min(1.0, long_side / (columns * width), long_side / (rows * height))
    width, height = max(1, math.floor(width * scale)), max(1, math.floor(height * scale))
    sheet = np.zeros((rows * height, columns * width, 3), np.uint8)
    for index, picture in enumerate(pictures):
        row, column = divmod(index, columns)
        cell = sheet[row * height : (row + 1) * height, column * width : (column + 1) * width]
        _place(cell, picture)
        _number(cell, str(index + 1))
    return to_jpeg(sheet, quality)


def _columns(count: int, width: int, height: int) -> int:
    """How many columns make the grid of `count` cells closest to a square; the fewer where two are as good."""
    return min(range(1, count + 1), key=lambda n: (max(n * width, math.ceil(count / n) * height), n))


def _place(cell: Picture, picture: Picture) -> None:
    """Shrink `picture` into the middle of `cell`."""
    height, width = cell.shape[:2]
    scale = min(1.0, width / picture.shape[1], height / picture.shape[0])
    size = fitted(picture.shape[1], picture.shape[0], max(1, math.floor(scale * max(picture.shape[:2]))))
    small = shrink(picture, (max(1, min(size[0], width)), max(1, min(size[1], height))))
    top, left = (height - small.shape[0]) // 2, (width - small.shape[1]) // 2
    cell[top : top + small.shape[0], left : left + small.shape[1]] = small


def _number(cell: Picture, text: str) -> None:
    """Burn `text` in white on a black box, about a ninth of the cell's height but never under 14 pixels."""
    cv2 = load_cv2()
    tall = max(14, cell.shape[0] // 9)
    scale = cv2.getFontScaleFromHeight(cv2.FONT_HERSHEY_SIMPLEX, tall, 2)
    (wide, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, 2)
    edge = max(3, tall // 4)
    cell[: tall + 2 * edge, : wide + 2 * edge] = 0
    # putText wants an array of its own, and the cell is a view into the sheet.
    label = np.ascontiguousarray(cell)
    cv2.putText(label, text, (edge, tall + edge), cv2.FONT_HERSHEY_SIMPLEX, scale, (255, 255, 255), 2, cv2.LINE_AA)
    cell[:] = label
