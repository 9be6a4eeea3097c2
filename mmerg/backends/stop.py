"""Lets one thread's calls be broken off while others go on: as `Backend.close` does for all, for good.

stop = Stop()
with stop.over_this_thread():       # in the thread that asks
    backend.complete(request)       # CallError interrupted once another thread has called stop.set()
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mmerg.errors import CallError, Failure

LOOK = 0.2  # seconds between two looks whether anybody waits for the reply


class Stop:
    """Set once, from any thread; what is held then is shut, and nothing is held after it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[Callable[[], None]] = set()
        self._set = False

    def set(self) -> None:
        with self._lock:
            self._set = True
            for shut in self._held:
                shut()

    def is_set(self) -> bool:
        return self._set

    def check(self) -> None:
        """Raises CallError interrupted once it is set."""
        if self._set:
            raise CallError(Failure.INTERRUPTED, "nobody waits for the reply any longer", hint="ask again")

    def hold(self, shut: Callable[[], None]) -> None:
        """Have `shut`, which ends what a thread waits for, called from the thread that sets this. Raises CallError
        interrupted where it is set."""
        with self._lock:
            self.check()
            self._held.add(shut)

    def release(self, shut: Callable[[], None]) -> None:
        with self._lock:
            self._held.discard(shut)

    @contextmanager
    def over_this_thread(self) -> Iterator[None]:
        """Calls that this thread makes in the block are broken off by `set`."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


_CURRENT: ContextVar[Stop | None] = ContextVar("stop", default=None)


def current() -> Stop:
    """The one over this thread; where there is none, one that nobody sets."""
    return _CURRENT.get() or Stop()


def rested(seconds: float, closed: threading.Event) -> bool:
    """Waits so long; True, and at once, where `closed` is set. Raises CallError interrupted soon after the stop over
    this thread is set."""
    stop, end = current(), time.monotonic() + seconds
    while not closed.wait(min(LOOK, max(0.0, end - time.monotonic()))):
        stop.check()
        if time.monotonic() >= end:
            return False
    return True
