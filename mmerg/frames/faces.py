"""Where faces are in a picture, by OpenCV's frontal-face cascade.

It misses turned faces, and sometimes finds a face where there is none.

    finder() and find_faces(grey, narrowest=24, neighbours=6)    # [(x, y, width, height), …] in pixels, left to right
"""

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmerg.frames.picture import cv2

CASCADE = "haarcascade_frontalface_default.xml"
_of_thread = threading.local()  # two threads must not use one finder at once


def finder() -> Any | None:
    """This thread's face finder; None where OpenCV's build lacks it."""
    if not hasattr(_of_thread, "finder"):
        cascade = cv2.CascadeClassifier(str(Path(cv2.data.haarcascades) / CASCADE))
        _of_thread.finder = None if cascade.empty() else cascade
    return _of_thread.finder


def find_faces(
    grey: NDArray[np.uint8], narrowest: int, neighbours: int, step: float = 1.1
) -> list[tuple[int, int, int, int]]:
    """The faces (x, y, width, height; pixels) from left to right; none without a finder.

    narrowest: their least width. neighbours: how many windows around a face must agree. step: how windows grow.
    """
    cascade = finder()
    faces = cascade.detectMultiScale(grey, step, neighbours, minSize=(narrowest, narrowest)) if cascade else ()
    # Sorted, as several threads of OpenCV report into one list.
    return [(int(x), int(y), int(width), int(height)) for x, y, width, height in sorted(map(tuple, faces))]
