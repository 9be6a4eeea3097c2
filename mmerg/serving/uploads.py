"""Clips and pictures that a client sent: decoded in a child process with limits, so that a hostile one harms its own
turn alone. They are never written to a file that has a name.

    uploads = Uploads({Path("turn 3"): [Upload("clip", data)]})
    uploads.take(settings)
    Looker(settings, HeldFrames(), ahead=uploads)       # takes keyframes as from any clip
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from mmerg.backends.stop import current
from mmerg.corpora.dialogue import Clip
from mmerg.engine.look import Ahead
from mmerg.errors import ClipError
from mmerg.frames.extract import Outcome
from mmerg.frames.store import Frame, FrameStore
from mmerg.settings.model import FramesSettings

Kind = Literal["clip", "picture"]
SECONDS = 30.0  # that decoding may take


@dataclass(frozen=True)
class Upload:
    """A file as it came; `data` may be anything."""

    kind: Kind
    data: bytes


class Uploads(Ahead):
    """In place of clips on disk: `files` by the path that a turn's clip has. `take` is called before all else."""

    def __init__(self, files: Mapping[Path, Sequence[Upload]]) -> None:
        super().__init__()
        self.files = files
        self._decoded: dict[Path, list[tuple[Frame, bytes] | ClipError]] = {}

    def take(self, settings: FramesSettings) -> None:
        """Decodes all files."""
        self._decoded = {path: decode(uploads, settings) for path, uploads in self.files.items()}

    def problems(self) -> dict[str, str]:
        """Why some of a path's files, or all, give no frames, by path."""
        problems = {}
        for path, decoded in self._decoded.items():
            errors = dict.fromkeys(f"{one.what}: {one.hint}" for one in decoded if isinstance(one, ClipError))
            if errors:
                problems[str(path)] = "; ".join(errors)
        return problems

    def extract(self, clips: Sequence[Clip], _: FramesSettings, store: FrameStore) -> list[Outcome]:
        """The keyframes of each clip, their bytes in `store`, or why there are none at all."""
        return [self._of(clip.path, store) for clip in clips]

    def _of(self, path: Path, store: FrameStore) -> Outcome:
        frames: list[Frame] = []
        for one in self._decoded[path]:
            if not isinstance(one, ClipError):
                frames.append(one[0].model_copy(update={"sha256": store.write(one[1])}))
        return tuple(frames) or next(one for one in self._decoded[path] if isinstance(one, ClipError))


def decode(
    uploads: Sequence[Upload], settings: FramesSettings, seconds: float = SECONDS
) -> list[tuple[Frame, bytes] | ClipError]:
    """The keyframes of `uploads` with their JPEGs, or why there are none. seconds: the most for the child process."""
    stop, pipe = current(), subprocess.PIPE
    with ExitStack() as opened:
        files = []
        for upload in uploads:
            file = opened.enter_context(tempfile.TemporaryFile())
            file.write(upload.data)
            file.seek(0)
            files.append((upload.kind, file.fileno()))
        job = {"settings": settings.plain(), "files": files}
        command, fds = [sys.executable, "-m", "mmerg.serving.decoder"], [number for _, number in files]
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, pass_fds=fds)
        try:
            with stop.held(process.kill):
                answer, _ = process.communicate(json.dumps(job).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            return [ClipError("unreadable", f"it cannot be decoded within {seconds:g} s", hint="send a shorter one")]
        finally:
            process.kill()
            process.communicate()
    try:
        return list(_read(answer))
    except (ValidationError, ValueError, TypeError, KeyError):
        if len(uploads) > 1:  # one of them ended the process: the others may be good
            return [one for upload in uploads for one in decode([upload], settings)]
        what = "it cannot be decoded: it is damaged, too large, or no picture or video at all"
        return [ClipError("unreadable", what, hint="play it, and export it as JPEG, PNG, MP4 or WebM")]


def _read(answer: bytes) -> list[tuple[Frame, bytes] | ClipError]:
    """Reads what the child wrote: a line of JSON, then the JPEGs that it describes, one after the other."""
    head, _, rest = answer.partition(b"\n")
    decoded: list[tuple[Frame, bytes] | ClipError] = []
    for one in json.loads(head):
        if "reason" in one:
            decoded.append(ClipError(one["reason"], one["what"], hint=one["hint"]))
            continue
        size = one.pop("bytes")
        decoded.append((Frame.model_validate(one), rest[:size]))
        rest = rest[size:]
    return decoded
