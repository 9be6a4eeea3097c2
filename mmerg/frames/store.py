"""Keyframes on disk: JPEG bytes by content hash, and which frames belong to which clip as it was taken.

    folder/jpeg/<sha256>.jpg    the bytes
    folder/taken/<key>.json     what was asked for, and the list of frames it gave

Files appear whole or not at all, so several processes may share a folder. They are the user's alone, as they show
faces. What is damaged or does not match its name counts as absent. Failures are not kept: a bad clip is tried again.

    store = FrameStore(Path("cache/frames"))
    store.read(frame.sha256)  # JPEG bytes
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from mmerg.errors import ClipError, RunError
from mmerg.frames.decode import Span
from mmerg.frames.frame import Frame, FrameSettings
from mmerg.storage.files import write_whole

_METHOD = 1  # raise it when the same settings would take other frames or other bytes


@dataclass(frozen=True)
class TakenFrom:
    """All that decides which frames a clip gives: the file (absolute path, bytes, mtime), the span, the settings."""

    path: str
    size: int
    mtime_ns: int
    span: Span
    settings: FrameSettings

    def canonical(self) -> str:
        """As JSON text with a stable order; its digest names the index file."""
        span = (self.span.start, self.span.end, self.span.crop and asdict(self.span.crop))
        content = vars(self) | {"span": span, "settings": vars(self.settings), "method": _METHOD}
        return json.dumps(content, sort_keys=True)


class _Entry(BaseModel):
    """One file of the index."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    taken_from: str
    frames: tuple[Frame, ...]


@dataclass
class FrameStore:
    """Frames under `folder`, which is made on the first write. Raises RunError where it cannot be written."""

    folder: Path

    def read(self, sha256: str) -> bytes:
        """The JPEG bytes of a frame. Raises ClipError `lost` where they are absent or damaged."""
        data = self._sound(sha256)
        if data is None:
            what, hint = "a keyframe is not in the frame store, or is damaged", "run again: its clip is decoded anew"
            raise ClipError("lost", what, where=str(self._jpeg(sha256)), hint=hint)
        return data

    def write(self, data: bytes) -> str:
        """Keep JPEG bytes; gives their SHA-256 (hex)."""
        sha256 = hashlib.sha256(data).hexdigest()
        if self._sound(sha256) is None:
            _keep(self._jpeg(sha256), data)
        return sha256

    def find(self, taken_from: TakenFrom) -> tuple[Frame, ...] | None:
        """The frames taken before, if all of their bytes are still sound."""
        try:
            entry = _Entry.model_validate_json(self._index(taken_from).read_bytes())
        except (OSError, ValidationError):
            return None
        if entry.taken_from != taken_from.canonical() or any(self._sound(f.sha256) is None for f in entry.frames):
            return None
        return entry.frames

    def remember(self, taken_from: TakenFrom, frames: Sequence[Frame]) -> None:
        """Note which frames a clip gave; their bytes must have been written before."""
        entry = _Entry(taken_from=taken_from.canonical(), frames=tuple(frames))
        _keep(self._index(taken_from), entry.model_dump_json(indent=1).encode())

    def _sound(self, sha256: str) -> bytes | None:
        try:
            data = self._jpeg(sha256).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == sha256 else None

    def _jpeg(self, sha256: str) -> Path:
        return self.folder / "jpeg" / f"{sha256}.jpg"

    def _index(self, taken_from: TakenFrom) -> Path:
        return self.folder / "taken" / f"{hashlib.sha256(taken_from.canonical().encode()).hexdigest()}.json"


def _keep(path: Path, data: bytes) -> None:
    """Write the file; once more where somebody has emptied the store, which is a cache, in that moment."""
    try:
        write_whole(path, data)
    except RunError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        write_whole(path, data)
