"""Breaks off calls from another thread: all calls of a backend that closes, or those of one thread.

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

LOOK = 0.2  # seconds between two looks at the stop over the thread


class Stop:
    """Set once, from any thread. Calls that are held then are shut, and none can be held afterwards."""

    def __init__(self) -> None:
        self._lock, self._event = threading.Lock(), threading.Event()
        self._held: set[Callable[[], None]] = set()

    def set(self) -> None:
        with self._lock:
            self._event.set()
            for shut in self._held:
                shut()

    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raises CallError interrupted once it is set."""
        if self._event.is_set():
            raise CallError(Failure.INTERRUPTED, "the call was broken off", hint="run again to take up from here")

    def hold(self, shut: Callable[[], None]) -> None:
        """From now on `set` calls `shut`, which must end what this thread waits for. Raises CallError interrupted where
        this is set already."""
        with self._lock:
            self.check()
            self._held.add(shut)

    def release(self, shut: Callable[[], None]) -> None:
        with self._lock:
            self._held.discard(shut)

    def rest(self, seconds: float) -> None:
        """Wait. Raises CallError interrupted soon after this stop, or the one over the thread, is set."""
        end, thread = time.monotonic() + seconds, current()
        while True:
            left = end - time.monotonic()
            self._event.wait(min(LOOK, max(0.0, left)))
            self.check()
            thread.check()
            if left <= LOOK:
                return

    @contextmanager
    def over_this_thread(self) -> Iterator[None]:
        """Calls that this thread makes in the block are broken off by `set`."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


_NEVER = Stop()
_CURRENT: ContextVar[Stop] = ContextVar("stop", default=_NEVER)
current = _CURRENT.get  # the stop over this thread
