"""A run's keyframes in a report: shared with the run's folder, or copies in which faces are blurred.

Only what OpenCV's frontal-face cascade finds is blurred. It misses turned, small, covered and drawn faces, and a frame
in which it finds none stays as it is. This lowers the risk and does not make a folder anonymous.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mmerg.errors import ClipError
from mmerg.frames.describe import Face, measure
from mmerg.frames.picture import cv2, from_jpeg, to_jpeg
from mmerg.reporting.folder import ReportFolder
from mmerg.reporting.sample import SamplePage

Faces = Literal["keep", "blur"]
_MARGIN = 0.3  # of the box on each side: the cascade's box ends at the eyebrows and the chin
_BLOCKS = 5  # a blurred face keeps so many blocks across: too few to tell who it is
_QUALITY = 85


class Frames:
    """Puts the frames of the run's folder `source` into a report, each once, below `prefix`. counts: `faces` that were
    blurred, frames with faces (`blurred`) and without (`plain`), and frames that could not be read (`unreadable`), for
    which a grey picture stands."""

    def __init__(self, source: Path, folder: ReportFolder, faces: Faces, prefix: str = "") -> None:
        self.source, self.folder, self.faces, self.prefix = source, folder, faces, prefix
        self.counts: Counter[str] = Counter()
        self._done: set[str] = set()

    def has(self, sha256: str) -> bool:
        """Whether the run has a file of this frame. A link is none: it could name any file of this machine."""
        file = self.source / f"{sha256}.jpg"
        return bool(re.fullmatch("[0-9a-f]{64}", sha256)) and file.is_file() and not file.is_symlink()

    def put(self, page: SamplePage) -> dict[str, str]:
        """Put the images of a sample into the report, as far as the run has them; the name of each by its hash. Grids
        of frames are left out where faces are blurred: there, faces are too small for the cascade."""
        taken = [keyframe.frame.sha256 for keyframe in page.keyframes]
        named = {one: f"frame {number}" for number, one in enumerate(taken, start=1) if self.has(one)}
        if self.faces == "keep":
            sent = [one for call in page.story.calls for message in call.event.messages for one in message.images]
            named |= {one: "the grid of frames" for one in sent if one not in named and self.has(one)}
        self.add(named)
        return named

    def add(self, hashes: Iterable[str]) -> None:
        """Put these frames into the report."""
        for one in hashes:
            if one not in self._done:
                self._done.add(one)
                source, name = self.source / f"{one}.jpg", f"{self.prefix}frames/{one}.jpg"
                if self.faces == "keep":
                    self.folder.link(name, source)
                else:
                    self.folder.write(name, self._blur(source.read_bytes()))

    def _blur(self, data: bytes) -> bytes:
        try:
            [measured] = measure([data], [0.0])
        except ClipError:  # not for OpenCV; a browser may show it nevertheless
            self.counts["unreadable"] += 1
            return to_jpeg(np.full((48, 64, 3), 128, np.uint8), _QUALITY)
        self.counts.update(faces=len(measured.faces), **{"blurred" if measured.faces else "plain": 1})
        return to_jpeg(blur(from_jpeg(data), measured.faces), _QUALITY) if measured.faces else data


def blur(picture: NDArray[np.uint8], faces: Iterable[Face]) -> NDArray[np.uint8]:
    """A copy with each face, and a margin around it, as a few blocks of one colour each."""
    copy = picture.copy()
    height, width = copy.shape[:2]
    for face in faces:
        margin_x, margin_y = _MARGIN * face.width, _MARGIN * face.height
        columns = _pixels(face.x - margin_x, face.x + face.width + margin_x, width)
        rows = _pixels(face.y - margin_y, face.y + face.height + margin_y, height)
        part = copy[rows, columns]
        few = cv2.resize(part, (_BLOCKS, _BLOCKS), interpolation=cv2.INTER_AREA)
        copy[rows, columns] = cv2.resize(few, part.shape[1::-1], interpolation=cv2.INTER_NEAREST)
    return copy


def _pixels(low: float, high: float, size: int) -> slice:
    """Percentages as a span of pixels, at least one."""
    first = min(max(0, int(low * size / 100)), size - 1)
    return slice(first, min(size, max(first + 1, int(high * size / 100) + 1)))
