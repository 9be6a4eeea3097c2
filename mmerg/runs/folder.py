"""A run folder: written by one process at a time, resumed by the same command.

    runs/meld-merg-qwen3.5-27b-1a2b3c4d/
      manifest.json          what the run is made with, and every start of it
      samples/<id>.jsonl     the events of a finished sample
      results.jsonl          a line a sample; in corpus order once the command has ended
      frames/                the JPEGs that events name by hash

A sample is finished if it has both its events and its line; else it is done again. The file of results is the lock:
who writes it holds it, and sees before every line that it is still the one that goes by its name.
"""

import fcntl
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Generic, Self

from mmerg.errors import RunError
from mmerg.runs.events import Emit
from mmerg.runs.manifest import MANIFEST, Manifest, Started, read_any_manifest
from mmerg.runs.result import Line, Result, Results, read_lines
from mmerg.runs.samples import ENDING, SAMPLES, events_file, file_name, recording
from mmerg.runs.shards import SHARDS
from mmerg.storage.files import PART, private_folder, replacing, sha256_of, write_whole, writing

RESULTS, FRAMES = "results.jsonl", "frames"


class Folder(Generic[Line]):
    """An open folder with a manifest, events, and a `record` a sample in `file`. Use as a context manager; `record` is
    safe from several threads. Raises RunError where something cannot be written.

    manifest: its `identity` decides who may go on here, its one session is this start.
    """

    def __init__(self, path: Path, manifest: Started, record: type[Line], file: str, *, folders: Sequence[str]) -> None:
        self.path = path
        self._manifest = manifest
        self._file = path / file
        self._folders = [path / name for name in folders]
        self.results: Results[Line] = Results(record)
        self._size = 0
        self._guard = threading.Lock()
        self._failed: OSError | None = None

    def __enter__(self) -> Self:
        """Raises RunError where another process writes the folder or it belongs to another identity."""
        with writing(self.path):
            private_folder(self.path)
        for place in (self._file, self.path / MANIFEST, *self._folders):
            right, kind = (place.is_dir(), "folder") if place in self._folders else (place.is_file(), "file")
            if place.is_symlink() or (place.exists() and not right):
                what = f"a run has no link here, but a {kind} of its own"
                raise RunError(what, where=str(place), hint="move this away")
        with writing(self._file):
            self._handle = hold(self._file)
        try:
            self._begin()
        except BaseException:
            os.close(self._handle)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        os.close(self._handle)

    def record(self, sample: str, work: Callable[[Emit], Line]) -> Line:
        """One try at a sample: `work` tells its events as they happen and returns its record."""
        with recording(self.path, sample) as emit:
            record = work(emit)
            self._add(record)  # before its events are in place: a line and the events of two tries never stand together
        self.results.lost.discard(sample)
        return record

    def seal(self, order: Iterable[str]) -> None:
        """Put the records in corpus order, a line a sample, so that the same run gives the same bytes."""
        order = list(order)
        with self._guard:
            if not self.results.sealed(order):
                self._must_be_ours()
                self.results = self.results.in_order(order)
                self._rewrite()

    def _add(self, record: Line) -> None:
        """Append a sample's record, which replaces an earlier one."""
        with self._guard, writing(self._file):
            if self._failed:  # the line before is torn
                raise self._failed
            self._must_be_ours()
            if record.id in self.results:  # of the earlier try: a killed process leaves the sample to be done again
                events_file(self.path, record.id).unlink(missing_ok=True)
                self.results.lost.add(record.id)
            left = self.results.put(record)
            try:
                while left:
                    written = os.write(self._handle, left)
                    self._size += written
                    left = left[written:]
            except OSError as error:
                self._failed = error
                raise

    def _begin(self) -> None:
        """Hold the manifest that is there against ours, note that a run begins, and read what there is."""
        path, ours = self.path / MANIFEST, self._manifest
        manifest, before = ours, ours.sessions[:0]
        if path.exists():
            manifest = read_any_manifest(self.path)
            before = manifest.sessions
            if changed := changes(manifest.identity, ours.identity):
                what = f"this run was begun with something else: {changed}"
                hint = "rename or remove the folder to start anew, or restore what changed"
                raise RunError(what, where=str(path), hint=hint)
        elif os.fstat(self._handle).st_size or any(self.path.glob(f"{SAMPLES}/*{ENDING}")):
            what = "the folder holds results and no manifest.json: what they were made with cannot be known"
            hint = "rename or remove the folder to start anew, or put its manifest.json back"
            if (self.path / SHARDS).is_dir():
                hint = f"they are of a merge that was broken off: mmerg merge {self.path}"
            raise RunError(what, where=str(self.path), hint=hint)
        with writing(self.path):
            for folder in self._folders:
                private_folder(folder)
            own = f".{self._file.name}.", f".{MANIFEST}."  # reports and scores are written here, too
            for folder in (self.path, *self._folders):
                for name in os.listdir(folder):  # noqa: PTH208 - of 100,000 files, names alone
                    if name.endswith(PART) and (folder != self.path or name.startswith(own)):  # of a killed process
                        (folder / name).unlink()
        session = ours.sessions[0].model_copy(update={"at": datetime.now(UTC).isoformat(timespec="seconds")})
        write_whole(path, manifest.model_copy(update={"sessions": (*before, session)}).text(), durable=True)
        self.results = _read(self.path, self._file, self.results.record)
        found = os.fstat(self._handle)
        self._size = found.st_size
        if not self.results.clean or found.st_nlink > 1:  # the bytes of a copy elsewhere are not to be touched
            self._rewrite()

    def _must_be_ours(self) -> None:
        """Raises RunError where the file is no longer the one that is held, or holds what was not written here."""
        ours = os.fstat(self._handle)
        try:
            same = os.path.samestat(ours, self._file.stat()) and ours.st_size == self._size
        except OSError:
            same = False
        if not same:
            what = f"{self._file.name} was changed or removed while this run wrote it"
            hint = "stop whatever else works on the folder; the same command then goes on from what is there"
            raise RunError(what, where=str(self._file), hint=hint)

    def _rewrite(self) -> None:
        """Put a new file in the place of the one that is held, locked before it is there: no other process can hold it
        first."""
        with ExitStack() as undo, writing(self._file):
            with replacing(self._file) as file:
                file.writelines(self.results.lines.values())
                file.flush()
                os.fsync(file.fileno())
                handle = os.dup(file.fileno())
                undo.callback(os.close, handle)
                fcntl.fcntl(handle, fcntl.F_SETFL, os.O_APPEND)
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            undo.pop_all()
        os.close(self._handle)
        self._handle, self._size = handle, os.fstat(handle).st_size
        self.results.clean = True


class Run(Folder[Result]):
    """An open run folder; `keep_frame` is safe from several threads, too."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        super().__init__(path, manifest, Result, RESULTS, folders=(SAMPLES, FRAMES))
        self._sound_frames: set[str] = set()

    def keep_frame(self, sha256: str, read: Callable[[], bytes]) -> None:
        """Put a JPEG into frames/, once; `read` gives its bytes."""
        if sha256 in self._sound_frames:
            return
        path = self.path / FRAMES / f"{sha256}.jpg"
        with writing(path):
            if path.is_symlink() or not path.is_file() or sha256_of(path) != sha256:
                write_whole(path, read())
        self._sound_frames.add(sha256)


def read_results(path: Path) -> Results[Result]:
    """By id, in the order of the file, with the samples whose events are gone as `lost`; none where there is none.
    Raises RunError where a line is no result."""
    return _read(path, path / RESULTS, Result)


def _read(path: Path, file: Path, record: type[Line]) -> Results[Line]:
    results = read_lines(file, record)
    names = set(os.listdir(path / SAMPLES)) if (path / SAMPLES).is_dir() else ()  # noqa: PTH208
    results.lost = {sample for sample in results if file_name(sample) + ENDING not in names}
    return results


def hold(file: Path) -> int:
    """The file of a folder's records, open to append and locked until the handle is closed. Raises OSError, and
    RunError where another process holds it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        handle = os.open(file, flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), file.stat()):
                return handle
        except OSError as error:
            os.close(handle)
            if not isinstance(error, BlockingIOError):
                raise
            what, hint = "another process is writing this run", "wait for it, or stop it first"
            raise RunError(what, where=str(file.parent), hint=hint) from error
        os.close(handle)  # it was replaced between the two steps


def changes(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """In what an identity differs, long digests cut to what tells them apart."""
    pairs = {key: (then.get(key), new) for key, new in now.items() if then.get(key) != new}
    return "; ".join(f"{key}: {_cut(old)} then, {_cut(new)} now" for key, (old, new) in pairs.items())


def _cut(value: str | None) -> str:
    return f"{value[:12]}…" if value and len(value) == 64 else str(value)
