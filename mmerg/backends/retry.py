"""Tries a call again where that can help: after crashes, deadlines, a full queue, a lost server.

A call whose request is wrong (refused, too long, no such model) is not tried again, nor is one that the user broke off.
After the last try `pool.py` moves the call to another host.

    reply = persist(lambda: backend.complete(request), attempts=3, wait=1.0, closed=Stop())
"""

from collections.abc import Callable
from typing import TypeVar

from mmerg.backends.stop import Stop
from mmerg.errors import CallError, Failure

Made = TypeVar("Made")
RETRIED = frozenset({Failure.RUNNER_CRASH, Failure.TIMEOUT, Failure.BUSY, Failure.SERVER_ERROR, Failure.UNREACHABLE})


def persist(call: Callable[[], Made], attempts: int, wait: float, closed: Stop) -> Made:
    """The result of `call`, tried up to `attempts` times with pauses of `wait`, 2·wait, 4·wait, … seconds.

    Raises the last CallError, with the number of tries in its message, and CallError interrupted where `closed`, or the
    stop over the thread, ends a pause.
    """
    tries = 1
    while True:
        try:
            return call()
        except CallError as error:
            if error.failure not in RETRIED or tries >= attempts:
                error.what += f" (tried {tries} times)" * (tries > 1)
                raise
        closed.rest(wait * 2 ** (tries - 1))
        tries += 1
