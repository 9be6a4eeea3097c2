"""Faces in a picture, found with OpenCV's frontal-face cascade.

It misses turned faces, and sometimes finds a face where there is none.

    find_faces(grey, narrowest=24, neighbours=6)    # [(x, y, width, height), …] in pixels, left to right
"""

import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mmerg.frames.picture import cv2

CASCADE = "haarcascade_frontalface_default.xml"
_thread = threading.local()  # threads must not share a finder


def find_faces(
    grey: NDArray[np.uint8], narrowest: int, neighbours: int, step: float = 1.1
) -> list[tuple[int, int, int, int]]:
    """Finds the faces (x, y, width, height; pixels), from left to right. narrowest: the smallest width of a face.
    neighbours: how many search windows must agree on a face. step: the factor by which search windows grow."""
    if not hasattr(_thread, "finder"):
        _thread.finder = cv2.CascadeClassifier(str(Path(cv2.data.haarcascades) / CASCADE))
    faces = _thread.finder.detectMultiScale(grey, step, neighbours, minSize=(narrowest, narrowest))
    # Sorted, as OpenCV's threads return faces in any order.
    return [(int(x), int(y), int(width), int(height)) for x, y, width, height in sorted(map(tuple, faces))]
