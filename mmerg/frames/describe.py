"""Descriptions of keyframes by measurements, for models that take no images. They never name a mood or an action.

[describe_frame(measurements) for measurements in measure(jpegs, times)]
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmerg.frames.faces import find_faces
from mmerg.frames.picture import cv2, from_jpeg, measure_sharpness

_GRID = (64, 36)  # pixels; frames are compared at this size, so that noise does not count as motion


class Face(NamedTuple):
    """The place of a face in percent of the picture's width and height, from the top left corner."""

    x: float
    y: float
    width: float
    height: float

    def describe_place(self) -> str:
        """Describes its centre and width, such as `left, upper third, 22% of the width`."""
        column = min(2, int((self.x + self.width / 2) * 3 / 100))
        row = min(2, int((self.y + self.height / 2) * 3 / 100))
        across, down = ("left", "centre", "right")[column], ("upper", "middle", "lower")[row]
        return f"{across}, {down} third, {self.width:.0f}% of the width"


class Measurements(NamedTuple):
    """The measurements of a frame."""

    time: float  # seconds in its file
    brightness: float  # the mean of its luma, in percent of the range
    contrast: float  # the standard deviation of its luma, in percent of the range
    sharpness: float  # the variance of the Laplacian of its luma
    motion: float | None  # the mean absolute change of luma since the frame before, in percent; None for the first
    faces: tuple[Face, ...]  # from left to right


def measure(jpegs: Sequence[bytes], times: Sequence[float]) -> tuple[Measurements, ...]:
    """Measures the frames of a clip. times: seconds, increasing. Raises ClipError `unreadable` for a damaged JPEG."""
    measured: list[Measurements] = []
    before: NDArray[np.float64] | None = None
    for data, time in zip(jpegs, times, strict=True):
        grey = cv2.cvtColor(from_jpeg(data), cv2.COLOR_BGR2GRAY)
        grid = cv2.resize(grey, _GRID, interpolation=cv2.INTER_AREA).astype(np.float64)
        motion = None if before is None else _percent(np.abs(grid - before).mean())
        before = grid
        height, width = grey.shape
        boxes = find_faces(grey, narrowest=max(24, min(height, width) // 12), neighbours=6)
        shares = np.round(100 * np.array(boxes).reshape(-1, 4) / (width, height, width, height), 1).tolist()
        faces = tuple(Face(*share) for share in shares)
        light = _percent(grey.mean()), _percent(grey.std())
        measured.append(Measurements(round(time, 2), *light, round(measure_sharpness(grey), 1), motion, faces))
    return tuple(measured)


def describe_frame(measured: Measurements) -> str:
    parts = [f"brightness {measured.brightness:.0f}%", f"contrast {measured.contrast:.0f}%"]
    parts.append(f"sharpness {measured.sharpness:.0f}")
    if measured.motion is not None:
        parts.append(f"changed by {measured.motion:.1f}% since the frame before")
    places = "; ".join(face.describe_place() for face in measured.faces)
    count = {0: "no face found", 1: "one face found"}.get(len(measured.faces), f"{len(measured.faces)} faces found")
    parts.append(f"{count} ({places})" if places else count)
    return f"At {measured.time:.1f} s: {', '.join(parts)}."


def _percent(luma: float) -> float:
    """Converts a value of luma (0 to 255) to percent of the range."""
    return round(100.0 * float(luma) / 255.0, 1)
