"""Stores completions in an SQLite file, so that a run can be replayed exactly and at no cost.

The key is a digest of the request and the engine. A completion that was cut at its token limit is stored, so that a
replay makes the same repairs. Failed calls and aborted completions are not stored. Several processes may share a file,
which must be on a local disk (write-ahead log). The file lists its engines, so that a replay needs no server.

    backend = Cache(Ollama(...), Path("runs/cache.sqlite"), mode="on")
    engine = find_stored_engine(path, "ollama", "qwen2.5vl:7b", {"num_ctx": 12288})
    replayed = Cache(build_replay_backend(engine), path, "read")
"""

import hashlib
import json
import logging
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from mmerg.backends.cancel import CancelToken, current_token
from mmerg.backends.protocol import SHOWN_DIGEST, Backend, Completion, Engine, Finish, Request
from mmerg.backends.scripted import Scripted
from mmerg.errors import CallError, ConfigError, Failure, make_write_error
from mmerg.storage.files import describe_error

log = logging.getLogger(__name__)
BUSY_SECONDS = 30.0  # how long to wait for another process that writes
POLL_SECONDS = 0.02  # between checks whether an identical call has ended
TABLES = """
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS completions (key TEXT PRIMARY KEY, completion TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS engines (key TEXT PRIMARY KEY, engine TEXT NOT NULL);
    COMMIT"""

COMPLETIONS_FILE = "completions.sqlite"  # name of the file in its folder
CacheMode = Literal["off", "read", "on"]


class Cache:
    """A backend that stores the completions of `inner` in the file at `path`.

    With mode `on` it reads and writes the file, with `read` it only reads. A stored completion is returned with
    `cached=True`. Of simultaneous identical calls, even from several processes, only one reaches `inner`. A stored
    completion that cannot be read is reported in a warning and requested again. Raises ConfigError or RunError if the
    file cannot be used.
    """

    def __init__(self, inner: Backend, path: Path, mode: CacheMode = "on") -> None:
        self._inner, self._path, self._mode = inner, path, mode
        self._guard, self._closed = threading.Lock(), CancelToken()
        self._database: sqlite3.Connection | None = None  # used only under the guard
        self._engine: Engine | None = None

    def describe(self) -> Engine:
        self._engine = self._inner.describe()
        return self._engine

    def complete(self, request: Request) -> Completion:
        engine = self._engine or self.describe()
        key = hashlib.sha256(f"{request.digest} {engine.key()}".encode()).hexdigest()
        if hit := self._load(key):
            return hit
        if self._mode != "on":
            return self._inner.complete(request)
        with self._lock(key):
            return self._load(key) or self._store(key, engine, self._inner.complete(request))

    def close(self) -> None:
        self._inner.close()
        self._closed.cancel()
        with self._guard:
            if self._database:
                self._database.close()

    def engines(self) -> list[Engine]:
        with self._connect() as database:
            return [Engine.model_validate_json(text) for (text,) in database.execute("SELECT engine FROM engines")]

    def _load(self, key: str) -> Completion | None:
        with self._connect() as database:
            row = database.execute("SELECT completion FROM completions WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            completion = Completion.model_validate_json(row[0])
        except ValueError as error:
            log.warning("a stored completion cannot be read and is ignored: %s (%s)", describe_error(error), self._path)
            return None
        return completion.model_copy(update={"cached": True})

    def _store(self, key: str, engine: Engine, completion: Completion) -> Completion:
        if completion.finish is not Finish.ABORT:
            text = json.dumps(completion.model_dump(mode="json"), ensure_ascii=False)
            with self._connect() as database:
                row = engine.key(), engine.model_dump_json()
                database.execute("INSERT OR IGNORE INTO engines VALUES (?, ?)", row)
                database.execute("INSERT OR REPLACE INTO completions VALUES (?, ?)", (key, text))
        return completion

    @contextmanager
    def _lock(self, key: str) -> Iterator[None]:
        """Makes other threads and processes that lock the same key wait until the block ends. The key is that of a
        completion, or "open" while the file is opened."""
        token = current_token()
        path = self._path.with_name(f"{self._path.name}.{key[:32]}.lock")
        lock = FileLock(path, thread_local=False)
        try:
            lock.acquire(
                threading.TIMEOUT_MAX, POLL_SECONDS, cancel_check=lambda: self._closed.cancelled or token.cancelled
            )
        except Timeout as error:
            what = "the call was cancelled while waiting for an identical call"
            raise CallError(Failure.INTERRUPTED, what, where=str(self._path)) from error
        except OSError as error:
            raise make_write_error(error, path) from error
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()  # before the release, so that waiting threads and processes make a new lock file
            lock.release()

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with self._guard:
            self._closed.check()
            try:
                self._database = self._database or self._open()
                yield self._database
            except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
                raise self._make_error(str(error)) from error

    def _open(self) -> sqlite3.Connection:
        if self._mode == "on":
            self._path.parent.mkdir(parents=True, exist_ok=True)
        elif not self._path.is_file():
            raise self._make_error("the file does not exist; run with cache=on first")
        uri = f"{self._path.absolute().as_uri()}?mode={'rwc' if self._mode == 'on' else 'ro'}"
        database = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        if self._mode == "on":
            with self._lock("open"):  # SQLite does not wait for other writers when it sets the journal mode
                database.executescript(TABLES)
                database.execute("PRAGMA journal_mode = WAL")  # has no effect on disks that do not support it
            database.execute("PRAGMA synchronous = NORMAL")
        return database

    def _make_error(self, why: str) -> ConfigError:
        hint = "free disk space, move the file away, set cache_dir to another folder, or use cache=off"
        return ConfigError(f"the completion cache cannot be used: {why}", where=str(self._path), hint=hint)


def wrap_in_cache(inner: Backend, path: Path, mode: CacheMode) -> Backend:
    """Returns `inner` with a cache of its completions at `path`, or `inner` itself if `mode` is off."""
    return inner if mode == "off" else Cache(inner, path, mode)


def build_replay_backend(engine: Engine) -> Backend:
    """Builds the inner backend of a cache that is used without a server. Calls that are not in the cache raise
    CallError not_cached."""

    def refuse(request: Request) -> CallError:
        what = f"this call is not in the cache: {request.digest[:SHOWN_DIGEST]}"
        hint = "start the server, with cache=on"
        return CallError(Failure.NOT_CACHED, what, where=engine.brief(), hint=hint)

    return Scripted(refuse, engine)


def find_stored_engine(path: Path, backend: str, model: str, load: Mapping[str, int | str | bool | float]) -> Engine:
    """Finds the engine of `backend` and `model` in the cache at `path` whose load options include `load`. Raises
    ConfigError, with a list of the engines, unless exactly one matches, as when the server was updated."""
    with closing(Cache(Scripted([]), path, "read")) as cache:
        stored = cache.engines()
    same_model = [engine for engine in stored if (engine.backend, engine.model) == (backend, model)]
    matches = [engine for engine in same_model if load.items() <= engine.load.items()]
    if len(matches) == 1:
        return matches[0]
    listed = "; ".join(engine.brief() for engine in matches or same_model or stored) or "no engine"
    what = f"the cache holds completions of {len(matches) or 'no'} engines that match {model} on {backend}"
    hint = "start the server, so that it can be identified"
    raise ConfigError(f"{what}: {listed}", where=str(path), hint=hint)
