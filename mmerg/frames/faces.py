"""Where faces are in a picture: OpenCV's frontal-face cascade, which misses turned faces and sometimes sees one where
there is none.

    finder() and boxes(grey, least=24, sure=6)    # [(x, y, width, height), …] in pixels, from left to right
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmerg.frames.picture import cv2

CASCADE = "haarcascade_frontalface_default.xml"
_own = threading.local()  # a finder is not safe from several threads


def finder() -> Any | None:
    """This thread's face finder; None where OpenCV's build lacks it."""
    if not hasattr(_own, "finder"):
        file = Path(cv2.data.haarcascades) / CASCADE
        found = cv2.CascadeClassifier(str(file)) if file.is_file() else None
        _own.finder = None if found is None or found.empty() else found
    return _own.finder


def boxes(grey: NDArray[np.uint8], least: int, sure: int, step: float = 1.1) -> list[tuple[int, int, int, int]]:
    """The faces at least `least` pixels wide of which so many neighbouring windows are `sure`; `step`: by how
    much windows grow. None without a finder.

    Several threads of OpenCV report into one list, so they are put in order.
    """
    found = finder()
    seen = found.detectMultiScale(grey, step, sure, minSize=(least, least)) if found else ()
    return [(int(x), int(y), int(width), int(height)) for x, y, width, height in sorted(map(tuple, seen))]
