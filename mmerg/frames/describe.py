"""Descriptions of keyframes by measurements, for models that take no images. They never name a mood or an action."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mmerg.frames.faces import find_faces
from mmerg.frames.picture import cv2, from_jpeg, measure_sharpness

_GRID = (64, 36)  # pixels; frames are compared at this size, so that noise does not count as motion


def describe_frames(jpegs: Sequence[bytes], times: Sequence[float]) -> list[str]:
    """Describes the frames of a clip, a sentence each: light and contrast as mean and standard deviation of the luma,
    sharpness as the variance of its Laplacian, the mean change of luma since the frame before, and faces from left to
    right. times: seconds, increasing. Raises ClipError `unreadable` for a damaged JPEG."""
    sentences: list[str] = []
    before: NDArray[np.float64] | None = None
    for data, time in zip(jpegs, times, strict=True):
        grey = cv2.cvtColor(from_jpeg(data), cv2.COLOR_BGR2GRAY)
        parts = [f"brightness {_percent(grey.mean()):.0f}%", f"contrast {_percent(grey.std()):.0f}%"]
        parts.append(f"sharpness {round(measure_sharpness(grey), 1):.0f}")
        grid = cv2.resize(grey, _GRID, interpolation=cv2.INTER_AREA).astype(np.float64)
        if before is not None:
            parts.append(f"changed by {_percent(np.abs(grid - before).mean()):.1f}% since the frame before")
        before = grid
        parts.append(_describe_faces(grey))
        sentences.append(f"At {round(time, 2):.1f} s: {', '.join(parts)}.")
    return sentences


def _describe_faces(grey: NDArray[np.uint8]) -> str:
    height, width = grey.shape
    faces = find_faces(grey, narrowest=max(24, min(height, width) // 12), neighbours=6)
    if not faces:
        return "no face found"
    shares = np.round(100 * np.array(faces) / (width, height, width, height), 1).tolist()
    places = "; ".join(describe_place(*share) for share in shares)
    return f"{'one face' if len(faces) == 1 else f'{len(faces)} faces'} found ({places})"


def describe_place(x: float, y: float, width: float, height: float) -> str:
    """Describes the place of a face by its centre and width, such as `left, upper third, 22% of the width`. x, y: its
    top left corner. All in percent of the picture's width and height."""
    column, row = int((x + width / 2) * 3 / 100), int((y + height / 2) * 3 / 100)
    across, down = ("left", "centre", "right")[column], ("upper", "middle", "lower")[row]
    return f"{across}, {down} third, {width:.0f}% of the width"


def _percent(luma: float) -> float:
    """Converts a value of luma (0 to 255) to percent of the range."""
    return round(100.0 * float(luma) / 255.0, 1)
