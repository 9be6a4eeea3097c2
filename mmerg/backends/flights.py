"""One at a time for each key, among the threads of this process and among processes that name the same file.

Parallel members of a sweep then ask a model once for what they share: who comes second waits, and finds the answer.
A lock is a byte of an empty file at the key's place; the system frees it when a process ends, however it ends. Such
locks belong to an open file (Linux has them); elsewhere processes do not wait for each other.

    flights = Flights(Path("runs/.cache/replies.sqlite.flights"))
    with flights.alone(key): ...
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mmerg.errors import CallError, Failure, unwritable

LOOK_AGAIN = (0.005, 0.2)  # seconds between two looks at another process's lock: the first, the longest


@dataclass
class _Flight:
    """A key that some threads are in flight with: one holds the lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class Flights:
    """Keys are hexadecimal digests. `close` after the last `alone`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._flights: dict[str, _Flight] = {}
        self._file: int | None = None
        self._closed = False

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """Hold `key` for as long as the block runs. Raises RunError where the file cannot be used, and CallError
        (interrupted) once this is closed."""
        with self._guard:
            flight = self._flights.setdefault(key, _Flight())
            flight.users += 1
        try:
            with flight.lock, self._among_processes(int(key[:12], 16)):
                yield
        finally:
            with self._guard:
                flight.users -= 1
                if not flight.users:
                    del self._flights[key]

    def close(self) -> None:
        """Frees all keys; whoever waits for one is told."""
        with self._guard:
            self._closed = True
            if self._file is not None:
                os.close(self._file)
                self._file = None

    @contextmanager
    def _among_processes(self, place: int) -> Iterator[None]:
        pause, longest = LOOK_AGAIN
        while not self._locked(place, True):
            time.sleep(pause)
            pause = min(2 * pause, longest)
        try:
            yield
        finally:
            self._locked(place, False)

    def _locked(self, place: int, lock: bool) -> bool:
        """Lock or free a byte of the file; False where another open file has it."""
        try:
            import fcntl
        except ModuleNotFoundError:  # Windows
            return True
        if not hasattr(fcntl, "F_OFD_SETLK"):
            return True
        kind = fcntl.F_WRLCK if lock else fcntl.F_UNLCK
        with self._guard:
            if self._closed and not lock:
                return True  # closing has freed it
            if self._closed:
                raise CallError(Failure.INTERRUPTED, "the cache is closed", where=str(self._path))
            try:
                if self._file is None:
                    self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, struct.pack("hhqqi", kind, os.SEEK_SET, place, 1, 0))
            except BlockingIOError:
                return False
            except OSError as error:
                raise unwritable(error, self._path) from error
        return True
