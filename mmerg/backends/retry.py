"""Retries of a call after failures that may be temporary: crashes, deadlines, a full queue, an unreachable server.

After the last attempt, `pool.py` moves the call to another host.

    completion = retry(lambda: backend.complete(request), attempts=3, wait=1.0, closed=CancelToken())
"""

from collections.abc import Callable
from typing import TypeVar

from mmerg.backends.cancel import CancelToken
from mmerg.errors import CallError, Failure

Result = TypeVar("Result")
RETRIED = frozenset({Failure.RUNNER_CRASH, Failure.TIMEOUT, Failure.BUSY, Failure.SERVER_ERROR, Failure.UNREACHABLE})


def retry(call: Callable[[], Result], attempts: int, wait: float, closed: CancelToken) -> Result:
    """Returns the result of `call`, after up to `attempts` attempts with pauses of `wait`, 2·wait, 4·wait, … seconds.
    Raises the last CallError, with the number of attempts in its message. Raises CallError interrupted if `closed` or
    the current thread's token is cancelled during a pause."""
    attempt = 1
    while True:
        try:
            return call()
        except CallError as error:
            if error.failure not in RETRIED or attempt >= attempts:
                if attempt > 1:
                    error.what += f" (tried {attempt} times)"
                raise
        closed.wait(wait * 2 ** (attempt - 1))
        attempt += 1
