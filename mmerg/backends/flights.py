"""One at a time for each key, among the threads of this process and among processes that name the same file.

Parallel members of a sweep then ask a model once for what they share: who comes second waits, and finds the answer.
A lock is a byte of an empty file at the key's place; the system frees it when a process ends, however it ends. Where
locks on parts of a file do not exist (Windows), processes do not wait for each other.

    flights = Flights(Path("runs/.cache/replies.sqlite.flights"))
    with flights.alone(key): ...
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mmerg.errors import unwritable

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

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """Hold `key` for as long as the block runs. Raises RunError where the file cannot be used."""
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
        with self._guard:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    @contextmanager
    def _among_processes(self, place: int) -> Iterator[None]:
        if sys.platform == "win32":
            yield
            return
        import fcntl

        file = self._opened()
        pause, longest = LOOK_AGAIN
        while True:
            try:
                # Waiting inside the system could be refused as a deadlock: it takes the threads of a process for one.
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                break
            except (BlockingIOError, PermissionError):  # which of the two differs between systems
                time.sleep(pause)
                pause = min(2 * pause, longest)
        try:
            yield
        finally:
            with self._guard:
                if self._file is not None:  # closing has freed it already
                    fcntl.lockf(file, fcntl.LOCK_UN, 1, place)

    def _opened(self) -> int:
        with self._guard:
            if self._file is None:
                try:
                    self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                except OSError as error:
                    raise unwritable(error, self._path) from error
            return self._file
