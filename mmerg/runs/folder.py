"""A run folder. One process at a time writes it, and the same command resumes it.

    runs/meld-merg-qwen3.5-27b-1a2b3c4d/
      manifest.json          the settings, engine and inputs, and every start
      samples/<id>.jsonl     the events of a finished sample
      results.jsonl          a line for each sample, sorted in corpus order when the command ends
      frames/                the JPEGs that events name by hash
      .lock                  held by the writing process

A sample is finished if it has both events and a line. Otherwise it runs again.
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, Self

from filelock import FileLock, Timeout

from mmerg.errors import RunError, make_write_error, preview
from mmerg.runs.config_diff import describe_changes
from mmerg.runs.events import Emit
from mmerg.runs.manifest import MANIFEST, BaseManifest, Manifest, read_any_manifest, shorten_digest
from mmerg.runs.result import Line, Result, Results, read_lines
from mmerg.runs.samples import SAMPLES, events_file, file_name, recording
from mmerg.storage.files import PART, make_private_folder, wrap_os_errors, write_atomically
from mmerg.storage.record import write_record

RESULTS, FRAMES, LOCK = "results.jsonl", "frames", ".lock"


class Folder(Generic[Line]):
    """A folder that is open for writing: a manifest, events, and a file with a record for each sample.

    It is a context manager. Several threads may call `record`. Methods raise RunError if writing fails. The identity of
    `manifest` must be that of the folder, and its only session is this start.
    """

    def __init__(self, path: Path, manifest: BaseManifest, record: type[Line], file: str) -> None:
        self.path = path
        self.results: Results[Line] = Results(record)
        self._manifest = manifest
        self._file, self._record = path / file, record
        self._guard = threading.Lock()
        self._lock = ExitStack()

    def __enter__(self) -> Self:
        """Opens the folder. Raises RunError if another process is writing it, or if its identity differs."""
        with wrap_os_errors(self.path):
            make_private_folder(self.path)
        with ExitStack() as locked:
            locked.enter_context(lock_folder(self.path))
            self._begin()
            self._lock = locked.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def record(self, sample: str, work: Callable[[Emit], Line]) -> Line:
        """Runs one attempt at a sample, and writes the events that `work` emits and the record that it returns."""
        with recording(self.path, sample) as emit:
            record = work(emit).with_digest(self._manifest.identity)
            self._add(record)  # before its events are in place, so that line and events are of the same attempt
        self.results.without_events.discard(sample)
        return record

    def seal(self, order: Iterable[str]) -> None:
        """Sorts the records in corpus order, so that equal runs have equal bytes, and writes their number to the
        manifest, which reveals removed lines."""
        with self._guard:
            self.results = self.results.reorder(order)
            write_atomically(self._file, self.results.lines.values(), durable=True)
            manifest = read_any_manifest(self.path).with_digest(len(self.results))
            write_record(self.path / MANIFEST, manifest, durable=True)

    def _begin(self) -> None:
        """Compares the existing manifest, adds this start to it, and reads the existing records."""
        file, start = self.path / MANIFEST, self._manifest.sessions[0]
        manifest: BaseManifest = self._manifest.model_copy(update={"sessions": ()})
        if file.exists():
            manifest = read_any_manifest(self.path)
            if changed := describe_changes(manifest, self._manifest):
                raise self._changed_error(manifest, changed)
        with wrap_os_errors(self.path):
            make_private_folder(self.path / SAMPLES)
            remove_partial_files(self.path, self._file.name)
        start = start.model_copy(update={"at": datetime.now(UTC).isoformat(timespec="seconds")})
        manifest = manifest.with_digest().model_copy(update={"sessions": (*manifest.sessions, start)})
        write_record(file, manifest, durable=True)
        self.results = _read(self._file, self._record, manifest.identity)
        if not (self.results.matches_file and self._file.exists()):
            write_atomically(self._file, self.results.lines.values(), durable=True)

    def _changed_error(self, earlier: BaseManifest, changed: Sequence[str]) -> RunError:
        """Builds the error for a run whose settings, data or engine have changed since its start."""
        before, now = earlier.engine, self._manifest.engine
        to_start = "tags=[new]" if isinstance(earlier, Manifest) else f"runs={self.path.parent}-2"
        servers = {(engine.backend, engine.version, engine.model, engine.digest) for engine in (before, now)}
        if len(servers) == 1:  # a setting, the data, a load option or the adapter has changed
            to_continue = "restore what changed and run the same command again"
        else:
            model = f"{before.model}, digest {shorten_digest(before.digest)}, on {before.backend} {before.version}"
            to_continue = f"point backend.hosts=[…] to a server that has {model}"
        cause = "other settings or data" if before.key() == now.key() else "another engine"
        return RunError(
            f"the run was started with {cause}: {'; '.join(changed)}",
            where=str(self.path),
            hint=f"to start a new run, add {to_start} to the command; to continue this run, {to_continue}",
        )

    def _add(self, record: Line) -> None:
        """Appends a sample's record; it replaces an earlier one."""
        with self._guard, wrap_os_errors(self._file):
            if record.id in self.results:  # without the old events, a killed process leaves the sample unfinished
                events_file(self.path, record.id).unlink(missing_ok=True)
                self.results.without_events.add(record.id)
            line = left = record.line().encode(errors="replace")
            with self._file.open("ab", buffering=0) as file:
                size = file.tell()
                try:
                    while left:
                        left = left[file.write(left) :]
                except OSError:
                    file.truncate(size)  # no line may follow an incomplete one
                    raise
            self.results.put(record.id, line)


class Run(Folder[Result]):
    """An open run folder. Several threads may call `keep_frame`."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        super().__init__(path, manifest, Result, RESULTS)

    def keep_frame(self, sha256: str, read: Callable[[], bytes]) -> None:
        """Writes a JPEG to frames/ once. read: returns its bytes."""
        path = self.path / FRAMES / f"{sha256}.jpg"
        if not path.exists():
            write_atomically(path, read())


def read_results(path: Path) -> Results[Result]:
    """Reads the results of a run, in the order of the file. Raises RunError if the folder is no run or was changed."""
    return read_records(path, Result, RESULTS)


def read_records(path: Path, record: type[Line], file: str) -> Results[Line]:
    """Reads the records of any folder with a manifest; see `read_results`."""
    manifest = read_any_manifest(path)
    results = _read(path / file, record, manifest.identity)
    if manifest.records is None:
        return results
    if not results.matches_file or len(results) != manifest.records:
        incomplete = "" if results.matches_file else ", some of them twice or incomplete"
        what = f"the run wrote {manifest.records} records, but {file} has {len(results)}{incomplete}"
    elif results.without_events:
        what = f"the events of these samples are missing: {preview(sorted(results.without_events))}"
    else:
        return results
    hint = "restore the files, run the same command again (finished calls are cached), or import the replies again"
    raise RunError(what, where=str(path), hint=hint)


def read_partial_results(path: Path, manifest: Manifest) -> Results[Result]:
    """Reads the results of a run that may be unfinished. Samples in `without_events` run again at the next start."""
    return _read(path / RESULTS, Result, manifest.identity)


def _read(file: Path, record: type[Line], identity: Mapping[str, str]) -> Results[Line]:
    results = read_lines(file, record, identity)
    events = file.parent / SAMPLES
    names = set(os.listdir(events)) if events.is_dir() else set()  # noqa: PTH208 - of 100,000 files
    results.without_events = {sample for sample in results if file_name(sample) not in names}
    return results


def remove_partial_files(run: Path, file: str) -> None:
    """Removes the incomplete files that a killed process left, but for those that other commands may be writing. file:
    the name of the file of records. Raises OSError."""
    for pattern in (f"{SAMPLES}/*", f"{FRAMES}/*", f".{file}.*", f".{MANIFEST}.*"):
        for part in run.glob(f"{pattern}{PART}"):
            part.unlink()


def lock_folder(folder: Path) -> AbstractContextManager[object]:
    """Locks the folder until the returned block ends. Raises RunError if another process has the lock, or if it cannot
    be created."""
    try:
        return FileLock(folder / LOCK, timeout=0, mode=0o600).acquire()
    except Timeout as error:
        what, hint = "another process is writing to this run", "wait until it ends, or stop it"
        raise RunError(what, where=str(folder), hint=hint) from error
    except OSError as error:
        raise make_write_error(error, folder / LOCK) from error
