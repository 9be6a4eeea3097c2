"""A run folder: manifest, trace, frames and results, written by one process at a time, resumed by the same command.

    runs/meld-merg-qwen3.5-27b-1a2b3c4d/
      manifest.json   config, identity (corpus, engine, prompts, config), versions and git commit of the first start,
                      and of every start in `sessions`
      trace.jsonl     typed events as they happen
      results.jsonl   a line a sample; in corpus order once the command has ended
      frames/         the JPEGs that the trace names by hash

Knows nothing of stages. Two runs may share a folder only if their identity is the same. `Folder` is what a run has in
common with other work that is done a sample at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self

from filelock import FileLock, Timeout

from mmerg.errors import RunError, unwritable
from mmerg.runs.kept import Kept, Line, bytes_of
from mmerg.runs.lines import SAFE, Lines
from mmerg.runs.manifest import checked, no_run
from mmerg.runs.result import Result
from mmerg.runs.trace import Trace

MANIFEST, TRACE, RESULTS, FRAMES = "manifest.json", "trace.jsonl", "results.jsonl", "frames"
SESSION = ("versions", "git_commit", "how")


class Folder(Generic[Line]):
    """An open folder with a manifest, a trace, and a `record` a sample in `file`. Use as a context manager; `add` is
    safe from several threads.

    manifest: `identity` decides who may go on here. `versions`, `git_commit` and `how` (settings that do not decide
    results) are noted anew at each start, in `sessions`. Raises RunError where something cannot be written.
    """

    def __init__(self, path: Path, manifest: dict[str, Any], record: type[Line], file: str) -> None:
        self.path = path
        self._manifest = manifest
        self._record = record
        self._file = path / file
        self._lock = FileLock(path / ".lock")
        self._guard = threading.Lock()

    def __enter__(self) -> Self:
        """Raises RunError where another process writes the folder or it belongs to another identity."""
        with _written(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire(timeout=0)
            except Timeout as error:
                raise RunError(
                    "another process is writing this run", where=str(self.path), hint="wait for it, or stop it first"
                ) from error
        try:
            self._claim()
            self._lines = Lines(self._file)
            try:
                self.results = Kept(self._file, self._record)
                self.trace = Trace(self.path / TRACE)
            except BaseException:
                self._lines.close()
                raise
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._lines.close()
        self.trace.__exit__(kind, error, tb)
        self._lock.release()

    def _claim(self) -> None:
        """Write the manifest, or hold the one that is there against ours; either way note that a run begins."""
        path = self.path / MANIFEST
        manifest = self._manifest
        if path.exists():
            manifest = _plain_manifest(self.path)
            old, new = manifest["identity"], self._manifest["identity"]
            changed = [_change(key, old.get(key), new[key]) for key in new if old.get(key) != new[key]]
            if changed:
                raise RunError(
                    "this run was begun with something else: " + "; ".join(changed),
                    where=str(path),
                    hint="rename or remove the folder to start anew, or restore what changed",
                )
        elif any(file.exists() and file.stat().st_size for file in (self._file, self.path / TRACE)):
            raise RunError(
                "the folder holds results and no manifest.json: what they were made with cannot be known",
                where=str(self.path),
                hint="rename or remove the folder to start anew, or put its manifest.json back",
            )
        session = {"at": datetime.now(UTC).isoformat(timespec="seconds")}
        session |= {key: self._manifest[key] for key in SESSION if key in self._manifest}
        kept = {key: value for key, value in manifest.items() if key != "how"}
        before = manifest.get("sessions", [])
        kept["sessions"] = [*(before if isinstance(before, list) else []), session]
        replace_file(path, _text(kept))

    def add(self, result: Line) -> None:
        """Append a sample's result; a later line for the same sample replaces the earlier."""
        with self._guard:
            line = result.line()
            self._lines.append(line)
            self.results.append(result.id, bytes_of(line))

    def note(self, section: str, content: object) -> None:
        """Put a section of the manifest in place of what it says there: what is known only once results are."""
        with self._guard:
            replace_file(self.path / MANIFEST, _text({**_plain_manifest(self.path), section: content}))

    def seal(self, order: Sequence[str]) -> None:
        """Rewrite the results in corpus order, a line a sample, so that the same run gives the same bytes."""
        with self._guard:
            place = {sample: number for number, sample in enumerate(order)}
            samples = sorted(self.results, key=lambda sample: (place.get(sample, len(place)), sample))
            self._lines.close()
            replace_file(self._file, self.results.raw(samples))
            self.results.retire()
            self.results = Kept(self._file, self._record)
            self._lines = Lines(self._file)


class Run(Folder[Result]):
    """An open run folder; `keep_frame` is safe from several threads, too."""

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        super().__init__(path, manifest, Result, RESULTS)
        self._sound_frames: set[str] = set()

    def __enter__(self) -> Self:
        with _written(self.path):
            (self.path / FRAMES).mkdir(parents=True, exist_ok=True)
        return super().__enter__()

    def keep_frame(self, sha256: str, read: Callable[[], bytes]) -> None:
        """Put a JPEG beside the trace, once; `read` gives its bytes."""
        if sha256 in self._sound_frames:
            return
        path = self.path / FRAMES / f"{sha256}.jpg"
        if not _holds(path, sha256):
            data = read()
            part = path.with_suffix(f".{threading.get_ident()}.part")
            with _written(path, part):
                part.write_bytes(data)
                part.replace(path)
        self._sound_frames.add(sha256)


def _text(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


@contextmanager
def _written(path: Path, part: Path | None = None) -> Iterator[None]:
    """An error of the system as a RunError that names `path`; whatever fails, `part` does not stay behind."""
    try:
        yield
    except BaseException as error:
        if part:
            with suppress(OSError):
                part.unlink()
        if isinstance(error, OSError):
            raise unwritable(error, path) from error
        raise


def _holds(path: Path, sha256: str) -> bool:
    """Whether a frame's file is there and whole."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def _change(key: str, then: object, now: object) -> str:
    """What changed, long digests cut to what tells them apart."""
    told = [f"{value[:12]}…" if isinstance(value, str) and len(value) == 64 else str(value) for value in (then, now)]
    return f"{key}: {told[0]} then, {told[1]} now"


def replace_file(path: Path, content: str | Iterable[bytes]) -> None:
    """Write a file whole or not at all. Raises RunError where it cannot be written."""
    part = path.with_name(path.name + ".part")
    parts = (content.encode(errors=SAFE),) if isinstance(content, str) else content
    with _written(path, part):
        with part.open("wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a run folder, its parts whole. Raises RunError where there is none or it is damaged."""
    return checked(_plain_manifest(path), path / MANIFEST)


def _plain_manifest(path: Path) -> dict[str, Any]:
    """As it stands there, with an identity: all that a run which goes on needs of it."""
    file = path / MANIFEST
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise no_run(path) from error
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"the manifest cannot be read: {error}", where=str(file)) from error
    if not isinstance(content, dict) or not isinstance(content.get("identity"), dict):
        raise RunError("the manifest is not one of a run: it has no identity", where=str(file))
    return content


def read_results(path: Path) -> Kept[Result]:
    """The last result of each sample of a run folder, by id, in file order; a torn last line is passed over."""
    return Kept(path / RESULTS, Result)
