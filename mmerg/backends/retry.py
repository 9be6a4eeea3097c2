"""A wrapper that tries a call again where another try can help: crashes, deadlines, a full queue, a lost server.

What is wrong with the request itself (refused, too long, no such model) is never tried again, nor is a call that the
user broke off. Knows nothing of hosts: `pool.py` moves a call elsewhere once the tries here are used up.

    backend = Retry(Ollama(...), attempts=3, wait=1.0)
"""

import threading
from collections.abc import Callable
from typing import TypeVar

from mmerg.backends.protocol import Backend, Engine, Reply, Request
from mmerg.backends.stop import rested
from mmerg.errors import CallError, Failure

Made = TypeVar("Made")
RETRIED = frozenset({Failure.RUNNER_CRASH, Failure.TIMEOUT, Failure.BUSY, Failure.SERVER_ERROR, Failure.UNREACHABLE})
CHECKS = 4  # tries of an adapter to see whether a host still serves the same


class Retry:
    """Calls `inner` up to `attempts` times (at least once), waiting wait, 2·wait, 4·wait, … seconds in between.

    Raises the last CallError, with the number of tries in its message and as its cause the last one of a host that was
    reached, if any; interrupted where `close`, or the stop over the thread, ends a wait. `describe` is not tried again:
    it is asked when a run starts, and a user should see at once what is wrong.
    """

    def __init__(self, inner: Backend, attempts: int = 3, wait: float = 1.0) -> None:
        self._inner, self._attempts, self._wait = inner, attempts, wait
        self._closed = threading.Event()

    def describe(self) -> Engine:
        return self._inner.describe()

    def complete(self, request: Request) -> Reply:
        return persist(lambda: self._inner.complete(request), self._attempts, self._wait, self._closed)

    def close(self) -> None:
        self._closed.set()
        self._inner.close()


def persist(call: Callable[[], Made], attempts: int, wait: float, closed: threading.Event) -> Made:
    """What `call` gives, tried again where that can help, until `closed` is set. Raises CallError, as `Retry` says."""
    tries = 1
    reached: CallError | None = None
    while True:
        try:
            return call()
        except CallError as error:
            if error.failure is not Failure.UNREACHABLE or not reached:
                reached = error
            if error.failure not in RETRIED or tries >= attempts:
                if tries == 1:
                    raise
                what = f"{error.what} (tried {tries} times)"
                raise CallError(error.failure, what, where=error.where, hint=error.hint) from reached
            if rested(pause(wait, tries), closed):
                what = f"stopped while waiting to try again after: {error.what}"
                raise CallError(Failure.INTERRUPTED, what, where=error.where) from error
        tries += 1


def pause(wait: float, tries: int) -> float:
    """Seconds to wait after `tries` tries."""
    return float(wait * 2 ** (tries - 1))
