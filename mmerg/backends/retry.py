"""Tries a call again where that can help: crashes, deadlines, a full queue, a lost server.

What is wrong with the request itself (refused, too long, no such model) is never tried again, nor is a call that the
user broke off. Knows nothing of hosts: `pool.py` moves a call elsewhere once the tries here are used up.

    reply = persist(lambda: backend.complete(request), attempts=3, wait=1.0, closed=Stop())
"""

from collections.abc import Callable
from typing import TypeVar

from mmerg.backends.stop import Stop
from mmerg.errors import CallError, Failure

Made = TypeVar("Made")
RETRIED = frozenset({Failure.RUNNER_CRASH, Failure.TIMEOUT, Failure.BUSY, Failure.SERVER_ERROR, Failure.UNREACHABLE})


def persist(call: Callable[[], Made], attempts: int, wait: float, closed: Stop) -> Made:
    """What `call` gives, tried up to `attempts` times, after pauses of `wait`, 2·wait, 4·wait, … seconds.

    Raises the last CallError, with the number of tries in its message and as its cause the last one of a host that was
    reached, if any; interrupted where `closed`, or the stop over the thread, ends a pause.
    """
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
        closed.rest(wait * 2 ** (tries - 1))
        tries += 1
