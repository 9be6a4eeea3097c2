"""Cancellation of calls from another thread: all calls of a backend that is closed, or all calls of one thread.

token = CancelToken()
with token.scope():                 # in the thread that calls
    backend.complete(request)       # raises CallError interrupted once another thread calls token.cancel()
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mmerg.errors import CallError, Failure


class CancelToken:
    """A token that any thread can cancel, once and for all."""

    def __init__(self) -> None:
        self.cancelled = False
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], object]] = []

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True
            for callback in self._callbacks:
                callback()

    def check(self) -> None:
        """Raises CallError interrupted if the token is cancelled."""
        if self.cancelled:
            raise CallError(Failure.INTERRUPTED, "the call was cancelled", hint="run again to resume")

    @contextmanager
    def on_cancel(self, callback: Callable[[], object]) -> Iterator[None]:
        """Makes `cancel` call `callback` while the block runs; the callback must end the wait in the block. Raises
        CallError interrupted before and after the block if the token is cancelled, whatever the block raised."""
        with self._lock:
            self.check()
            self._callbacks.append(callback)
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)
            self.check()

    def wait(self, seconds: float) -> None:
        """Sleeps. Raises CallError interrupted as soon as this token or the current thread's token is cancelled."""
        woken = threading.Event()
        with self.on_cancel(woken.set), current_token().on_cancel(woken.set):
            woken.wait(seconds)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Makes `cancel` end the calls that this thread makes in the block."""
        reset_token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(reset_token)


_NEVER = CancelToken()
_CURRENT: ContextVar[CancelToken] = ContextVar("token", default=_NEVER)
current_token = _CURRENT.get  # the token of this thread
