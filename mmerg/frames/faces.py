"""Where faces are in a picture, and what a small classifier reads in one.

OpenCV's frontal-face cascade misses turned faces and sometimes sees one where there is none. The classifier is
mini-Xception (58,423 weights, seven classes; Arriaga et al., 2017, arXiv 1710.07557), trained on FER-2013, of which
people agree on some 65 %. `tools/get_face_reader.py` makes its file.

    finder() and find_faces(grey, narrowest=24, neighbours=6)    # [(x, y, width, height), …] in pixels, left to right
    read_face(Path("face_reader.onnx"), grey, (40, 20, 20, 30))    # "sadness 0.6, neutral 0.3"
"""

import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmerg.errors import ConfigError
from mmerg.frames.picture import cv2

CASCADE = "haarcascade_frontalface_default.xml"
_of_thread = threading.local()  # two threads must not use one finder at once
CLASSES = ("anger", "disgust", "fear", "happiness", "sadness", "surprise", "neutral")
SIDE = 64  # pixels
_LIKELY = 0.2  # a class of a smaller share is left out


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


def read_face(file: Path, grey: NDArray[np.uint8], box: tuple[int, int, int, int]) -> str:
    """The likeliest classes, with their shares, of the face in `box` (x, y, width, height; pixels) of a picture, by the
    classifier in `file`. Raises ConfigError where that cannot be loaded."""
    x, y, width, height = box
    shares = class_shares(file, grey[y : y + height, x : x + width])
    order = [place for place in np.argsort(-shares, kind="stable") if shares[place] >= _LIKELY]
    return ", ".join(f"{CLASSES[place]} {shares[place]:.1f}" for place in order[:2])


def class_shares(file: Path, face: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The classes' shares, of a grey picture of a face alone."""
    small = cv2.resize(face, (SIDE, SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
    given = (small / 255.0 - 0.5) * 2.0
    return np.asarray(_session(file).run(None, {"face": given[None, None]})[0][0], np.float32)


@cache
def _session(file: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own kinds
        hint = "python tools/get_face_reader.py writes it; or frames.face_reader=null"
        raise ConfigError("the face reader cannot be loaded", where=str(file), hint=hint) from error
