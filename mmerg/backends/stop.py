"""Breaks off calls from another thread: all calls of a backend that closes, or those of one thread.

stop = Stop()
with stop.over_this_thread():       # in the thread that calls
    backend.complete(request)       # raises CallError interrupted once another thread has called stop.set()
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mmerg.errors import CallError, Failure


class Stop:
    """Set once, from any thread."""

    def __init__(self) -> None:
        self._lock, self._set = threading.Lock(), False
        self._held: list[Callable[[], object]] = []

    def set(self) -> None:
        with self._lock:
            self._set = True
            for shut in self._held:
                shut()

    def is_set(self) -> bool:
        return self._set

    def check(self) -> None:
        """Raises CallError interrupted once this is set."""
        if self._set:
            raise CallError(Failure.INTERRUPTED, "the call was broken off", hint="run again to take up from here")

    @contextmanager
    def held(self, shut: Callable[[], object]) -> Iterator[None]:
        """While the block runs, `set` calls `shut`, which must end what the block waits for. Raises CallError
        interrupted before or after the block if this is set, whatever the block raised."""
        with self._lock:
            self.check()
            self._held.append(shut)
        try:
            yield
        finally:
            with self._lock:
                self._held.remove(shut)
            self.check()

    def rest(self, seconds: float) -> None:
        """Wait. Raises CallError interrupted as soon as this stop, or the one over the thread, is set."""
        woken = threading.Event()
        with self.held(woken.set), current().held(woken.set):
            woken.wait(seconds)

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
