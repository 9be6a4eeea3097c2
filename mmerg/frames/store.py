"""Keyframes, and where they lie: JPEG bytes by content hash, and which of them a clip gave.

folder/jpeg/<sha256>.jpg    the bytes
folder/taken/<key>.json     what was asked for, and the list of frames it gave
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from mmerg.errors import ClipError
from mmerg.storage.files import write_whole
from mmerg.storage.record import Record

Role = Literal["", "apex of a face", "apex of motion", "context"]


class Frame(Record):
    """One keyframe. `sha256` is of the JPEG bytes in the store; `time` is seconds from the start of `source`. role: as
    what `frames.method=apex` took it."""

    sha256: str
    source: str  # the clip's file name
    time: float
    width: int
    height: int
    role: Role = ""


class _Taken(Record):
    """What a clip gave. taken_from: all that decides it, as text."""

    taken_from: str
    frames: tuple[Frame, ...]


@dataclass
class FrameStore:
    """Frames under `folder`, which several processes may share. Raises RunError where it cannot be written. What is
    damaged counts as absent. Failures are not kept: a bad clip is tried again."""

    folder: Path

    def read(self, digest: str) -> bytes:
        """The JPEG bytes of a frame. Raises ClipError `lost` where they are absent or damaged."""
        data = self._bytes(digest)
        if data is None:
            what, hint = "a keyframe is not in the frame store, or is damaged", "run again: its clip is decoded anew"
            raise ClipError("lost", what, where=str(self._jpeg(digest)), hint=hint)
        return data

    def write(self, data: bytes) -> str:
        """Keep JPEG bytes; gives their SHA-256 (hex)."""
        digest = sha256(data).hexdigest()
        if self._bytes(digest) is None:
            write_whole(self._jpeg(digest), data)
        return digest

    def find(self, taken_from: str) -> tuple[Frame, ...] | None:
        """The frames taken before, if all of their bytes are still whole. taken_from: all that decides which they are,
        as text."""
        try:
            taken = _Taken.model_validate_json(self._index(taken_from).read_bytes())
        except (OSError, ValidationError):
            return None
        whole = taken.taken_from == taken_from and all(self._bytes(frame.sha256) is not None for frame in taken.frames)
        return taken.frames if whole else None

    def remember(self, taken_from: str, frames: Sequence[Frame]) -> None:
        """Note which frames a clip gave; their bytes must have been written before."""
        taken = _Taken(taken_from=taken_from, frames=tuple(frames))
        write_whole(self._index(taken_from), taken.model_dump_json(indent=1))

    def _bytes(self, digest: str) -> bytes | None:
        try:
            data = self._jpeg(digest).read_bytes()
        except OSError:
            return None
        return data if sha256(data).hexdigest() == digest else None

    def _jpeg(self, digest: str) -> Path:
        return self.folder / "jpeg" / f"{digest}.jpg"

    def _index(self, taken_from: str) -> Path:
        return self.folder / "taken" / f"{sha256(taken_from.encode()).hexdigest()}.json"


@dataclass
class HeldFrames(FrameStore):
    """Frames in memory alone, for as long as this lives: nothing is written, and no clip is found again."""

    folder: Path = Path("memory")
    held: dict[str, bytes] = field(default_factory=dict)

    def write(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        self.held[digest] = data
        return digest

    def find(self, taken_from: str) -> None:
        """None: a clip that comes again is decoded again."""

    def remember(self, taken_from: str, frames: Sequence[Frame]) -> None:
        """Nothing is noted."""

    def _bytes(self, digest: str) -> bytes | None:
        return self.held.get(digest)
