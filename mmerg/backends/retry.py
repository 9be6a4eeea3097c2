"""Retries a call after failures that may pass: crashes, deadlines, a full queue, a lost server.

After the last attempt, `pool.py` moves the call to another host.

    reply = retry(lambda: backend.complete(request), attempts=3, wait=1.0, closed=CancelToken())
"""

from collections.abc import Callable
from typing import TypeVar

from mmerg.backends.cancel import CancelToken
from mmerg.errors import CallError, Failure

Result = TypeVar("Result")
RETRIED = frozenset({Failure.RUNNER_CRASH, Failure.TIMEOUT, Failure.BUSY, Failure.SERVER_ERROR, Failure.UNREACHABLE})


def retry(call: Callable[[], Result], attempts: int, wait: float, closed: CancelToken) -> Result:
    """The result of `call`, after up to `attempts` attempts with pauses of `wait`, 2·wait, 4·wait, … seconds.

    Raises the last CallError, with the number of attempts in its message, or CallError interrupted if `closed` or the
    thread's token ends a pause.
    """
    attempt = 1
    while True:
        try:
            return call()
        except CallError as error:
            if error.failure not in RETRIED or attempt >= attempts:
                error.what += f" (tried {attempt} times)" * (attempt > 1)
                raise
        closed.wait(wait * 2 ** (attempt - 1))
        attempt += 1
