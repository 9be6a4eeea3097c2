"""A run's keyframes in a report: shared with the run's folder, or copies in which found faces are made unrecognisable.

Only what OpenCV's frontal-face cascade finds is blurred. Turned, small, covered and drawn faces are missed, and a frame
in which none is found is shown as it is: this lowers the risk and does not make a folder anonymous.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mmerg.errors import ClipError
from mmerg.frames.describe import Face, measure
from mmerg.frames.picture import cv2, from_jpeg, to_jpeg
from mmerg.reporting.folder import ReportFolder

Faces = Literal["keep", "blur"]
_HASH = re.compile("[0-9a-f]{64}")
_MARGIN = 0.3  # of the box on each side: the cascade's box ends at the eyebrows and the chin
_BLOCKS = 5  # a blurred face keeps so many blocks across: too few to tell who it is
_QUALITY = 85


@dataclass
class Frames:
    """Puts frames into a report, each once, below `prefix`. counts: `found` faces, in `blurred` frames; none were in
    `plain`; `unseen` could not be looked at, and a grey picture stands for each."""

    source: Path
    folder: ReportFolder
    faces: Faces
    prefix: str = ""
    put: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def held(self, sha256: str) -> bool:
        """Whether the run has a file of this frame. A link is none: it could name any file of this machine."""
        file = self._file(sha256)
        return bool(_HASH.fullmatch(sha256)) and file.is_file() and not file.is_symlink()

    def add(self, hashes: Iterable[str]) -> None:
        """Put these keyframes, which the run has, into the report."""
        for one in hashes:
            if one in self.put:
                continue
            self.put.add(one)
            if self.faces == "keep":
                self.folder.link(self.name(one), self._file(one))
            else:
                self.folder.write(self.name(one), self._blurred(self._file(one).read_bytes()))

    def name(self, sha256: str) -> str:
        """Where in the report a frame stands."""
        return f"{self.prefix}frames/{sha256}.jpg"

    def _file(self, sha256: str) -> Path:
        return self.source / f"{sha256}.jpg"

    def _blurred(self, data: bytes) -> bytes:
        try:
            [measured] = measure([data], [0.0])
        except ClipError:  # not for OpenCV; a browser may show it nevertheless
            self.counts["unseen"] += 1
            return to_jpeg(np.full((48, 64, 3), 128, np.uint8), _QUALITY)
        self.counts.update(found=len(measured.faces), **{"blurred" if measured.faces else "plain": 1})
        if not measured.faces:
            return data
        return to_jpeg(blurred(from_jpeg(data), measured.faces), _QUALITY)


def blurred(picture: NDArray[np.uint8], faces: Iterable[Face]) -> NDArray[np.uint8]:
    """A copy with each face, and a margin around it, as a few blocks of one colour each."""
    copy = picture.copy()
    height, width = copy.shape[:2]
    for face in faces:
        margin = _MARGIN * face.width, _MARGIN * face.height
        left, right = _pixels(face.x - margin[0], face.x + face.width + margin[0], width)
        top, bottom = _pixels(face.y - margin[1], face.y + face.height + margin[1], height)
        part = copy[top:bottom, left:right]
        few = cv2.resize(part, (_BLOCKS, _BLOCKS), interpolation=cv2.INTER_AREA)
        copy[top:bottom, left:right] = cv2.resize(few, (part.shape[1], part.shape[0]), interpolation=cv2.INTER_NEAREST)
    return copy


def _pixels(low: float, high: float, size: int) -> tuple[int, int]:
    """Percentages as a span of pixels, at least one."""
    first = min(max(0, int(low * size / 100)), size - 1)
    return first, min(size, max(first + 1, int(high * size / 100) + 1))
