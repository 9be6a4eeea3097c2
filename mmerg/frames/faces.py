"""Where faces are in a picture, and what a small classifier reads in one.

OpenCV's frontal-face cascade misses turned faces and sometimes sees one where there is none. The classifier is
mini-Xception (58,423 weights, seven classes; Arriaga et al., 2017, arXiv 1710.07557), trained on FER-2013, of which
people agree on some 65 %. `tools/get_face_reader.py` makes its file.

    finder() and boxes(grey, least=24, sure=6)    # [(x, y, width, height), …] in pixels, from left to right
    reader(Path("face_reader.onnx")).read(grey, (40, 20, 20, 30))    # "sadness 0.6, neutral 0.3"
"""

import threading
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmerg.errors import ConfigError
from mmerg.frames.picture import cv2

CASCADE = "haarcascade_frontalface_default.xml"
_own = threading.local()  # a finder is not safe from several threads
CLASSES = ("anger", "disgust", "fear", "happiness", "sadness", "surprise", "neutral")
SIDE = 64  # pixels
_LEAST = 0.2  # what is less likely is not told


def finder() -> Any | None:
    """This thread's face finder; None where OpenCV's build lacks it."""
    if not hasattr(_own, "finder"):
        made = cv2.CascadeClassifier(str(Path(cv2.data.haarcascades) / CASCADE))
        _own.finder = None if made.empty() else made
    return _own.finder


def boxes(grey: NDArray[np.uint8], least: int, sure: int, step: float = 1.1) -> list[tuple[int, int, int, int]]:
    """The faces (x, y, width, height; pixels) at least `least` wide of which so many neighbouring windows are `sure`,
    in order, as several threads of OpenCV report into one list; none without a finder. step: how windows grow."""
    made = finder()
    found = made.detectMultiScale(grey, step, sure, minSize=(least, least)) if made else ()
    return [(int(x), int(y), int(width), int(height)) for x, y, width, height in sorted(map(tuple, found))]


@dataclass(frozen=True)
class Reader:
    """Reads faces with the model in `file`. Raises ConfigError, when it first reads, where there is none."""

    file: Path

    def read(self, grey: NDArray[np.uint8], box: tuple[int, int, int, int]) -> str:
        """The likeliest classes, with their shares, of the face in `box` (x, y, width, height; pixels) of a picture."""
        x, y, width, height = box
        shares = self.shares(grey[y : y + height, x : x + width])
        order = [place for place in np.argsort(-shares, kind="stable") if shares[place] >= _LEAST]
        return ", ".join(f"{CLASSES[place]} {shares[place]:.1f}" for place in order[:2])

    def shares(self, face: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The classes' shares, of a grey picture of a face alone."""
        small = cv2.resize(face, (SIDE, SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
        given = (small / 255.0 - 0.5) * 2.0
        return np.asarray(self._session.run(None, {"face": given[None, None]})[0][0], np.float32)

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        try:
            return onnxruntime.InferenceSession(str(self.file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own kinds
            hint = "python tools/get_face_reader.py writes it; or frames.face_reader=null"
            raise ConfigError("the face reader cannot be loaded", where=str(self.file), hint=hint) from error


@cache
def reader(file: Path) -> Reader:
    """The reader in a file, loaded once."""
    return Reader(file)
