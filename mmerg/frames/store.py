"""A store of keyframes: JPEG bytes by their hash, and the list of frames of each clip.

folder/jpeg/<sha256>.jpg    the bytes of a frame
folder/clips/<key>.json     the frames of a clip, with the clip and settings that determine them
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from mmerg.errors import ClipError
from mmerg.storage.files import write_atomically
from mmerg.storage.record import Record

Role = Literal["", "apex of a face", "apex of motion", "context"]


class Frame(Record):
    """A keyframe."""

    sha256: str  # of its JPEG bytes (hex)
    source: str  # the file name of the clip
    time: float  # seconds from the start of the file
    width: int  # pixels
    height: int  # pixels
    role: Role = ""  # why `frames.method=apex` chose it; "" with another method


@dataclass(frozen=True)
class Keyframe:
    """A frame of a history turn (from 1). description: what a model without vision gets instead of the picture."""

    turn: int
    frame: Frame
    description: str = ""


class _ClipFrames(Record):
    """The frames of a clip. taken_from: the clip and settings that determine them, as text."""

    taken_from: str
    frames: tuple[Frame, ...]


@dataclass
class FrameStore:
    """Frames under `folder`, which several processes may share. A damaged file counts as missing. Failures are not
    stored, so a bad clip is decoded again. Raises RunError if a file cannot be written."""

    folder: Path

    def read(self, digest: str) -> bytes:
        """Reads the JPEG bytes of a frame. Raises ClipError `lost` if they are missing or damaged."""
        data = self._get(self._jpeg(digest))
        if data is None or sha256(data).hexdigest() != digest:
            what = "a keyframe in the frame store is missing or damaged"
            hint = "run the same command again: it decodes the clip again"
            raise ClipError("lost", what, where=str(self._jpeg(digest)), hint=hint)
        return data

    def write(self, data: bytes) -> str:
        """Stores JPEG bytes, and returns their SHA-256 (hex)."""
        digest = sha256(data).hexdigest()
        if self._get(self._jpeg(digest)) != data:
            self._put(self._jpeg(digest), data)
        return digest

    def find(self, taken_from: str) -> tuple[Frame, ...] | None:
        """Returns the frames that were remembered for the same text; None if there are none or one is damaged."""
        try:
            clip = _ClipFrames.model_validate_json(self._get(self._index(taken_from)) or b"")
            for frame in clip.frames:
                self.read(frame.sha256)
        except (ValidationError, ClipError):
            return None
        return clip.frames if clip.taken_from == taken_from else None

    def remember(self, taken_from: str, frames: Sequence[Frame]) -> None:
        """Remembers the frames of a clip. Their bytes must be written first."""
        clip = _ClipFrames(taken_from=taken_from, frames=tuple(frames))
        self._put(self._index(taken_from), clip.model_dump_json(indent=1).encode())

    def _get(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except OSError:
            return None

    def _put(self, path: Path, data: bytes) -> None:
        write_atomically(path, data)

    def _jpeg(self, digest: str) -> Path:
        return self.folder / "jpeg" / f"{digest}.jpg"

    def _index(self, taken_from: str) -> Path:
        return self.folder / "clips" / f"{sha256(taken_from.encode()).hexdigest()}.json"


@dataclass
class InMemoryFrameStore(FrameStore):
    """A frame store in memory, which writes nothing to disk."""

    folder: Path = Path("memory")
    files: dict[Path, bytes] = field(default_factory=dict)

    def _get(self, path: Path) -> bytes | None:
        return self.files.get(path)

    def _put(self, path: Path, data: bytes) -> None:
        self.files[path] = data
