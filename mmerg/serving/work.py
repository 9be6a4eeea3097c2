"""Runs turns: each waits for a slot, first come first served, then runs in a thread and reports what happens.

A turn whose client disconnects is stopped, with its call to the model; its slot is free once its thread has ended.

    async for report in work.turn(job):      # Place(2), Place(0), all that `job` reports, and its result
        ...
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from mmerg.backends.cancel import CancelToken
from mmerg.backends.pool import Pool
from mmerg.backends.protocol import Backend
from mmerg.errors import ConfigError, MmergError, RunError
from mmerg.serving.refused import START, HttpError, code_fault, describe_fault

log = logging.getLogger(__name__)
Report = Callable[[object], None]
Job = Callable[[Backend, Report], object]
RESTART = "start `mmerg serve` again, then send the message again"
Reports = asyncio.Queue[object]
SILENCE, ENDED, STOPPED = object(), object(), object()


@dataclass(frozen=True)
class Place:
    """How many turns are waiting or running before this one, less the slots; 0 when it starts."""

    place: int


class TurnRunner:
    """Runs turns on the slots of `pool`; at most `waiting` others wait. most: turns at once, running and waiting.
    silence: seconds without a report until SILENCE is reported."""

    def __init__(self, pool: Pool, waiting: int) -> None:
        self._pool, self._waiting = pool, waiting
        self.most = pool.slots + waiting
        self._threads = ThreadPoolExecutor(pool.slots, thread_name_prefix="turn")  # starts turns in their order
        self._turns: set[Reports] = set()
        self.silence = 15.0

    async def turn(self, job: Job) -> AsyncGenerator[object, None]:
        """The turn's place in the queue, what `job` reports, and its result. Raises what `job` raises, and HttpError
        (503) if too many turns wait or no model server answers."""
        if (place := len(self._turns)) >= self.most:
            what = f"{self._waiting} turns are already waiting for the model"
            raise HttpError(what, where="limits.waiting", hint="try again in a while", status=503)
        loop, token, reports = asyncio.get_running_loop(), CancelToken(), Reports()
        waits = max(0, place + 1 - self._pool.slots)

        def report(what: object) -> None:
            token.check()
            loop.call_soon_threadsafe(reports.put_nowait, what)

        def leave() -> None:
            self._turns.discard(reports)
            reports.put_nowait(ENDED)

        def run() -> object:
            try:
                with token.scope():
                    if waits:
                        report(Place(0))
                    with self._pool.lease() as backend:
                        return job(backend, report)
            except (ConfigError, RunError) as error:  # their hints are for runs
                raise HttpError(error.what, where=error.where, hint=START, status=503) from None
            finally:  # before the thread starts another turn
                loop.call_soon_threadsafe(leave)

        self._turns.add(reports)
        future = None
        try:
            yield Place(waits)  # before the turn's thread competes for the interpreter
            future = self._threads.submit(run)
            while (item := await self._next(reports)) is not ENDED:
                yield item
            yield await asyncio.wrap_future(future)
        except MmergError:
            raise
        except Exception as error:  # noqa: BLE001 - its frames hold the user's words
            log.warning("%s", describe_fault(error))
            raise code_fault() from None
        finally:
            token.cancel()
            if not future or future.cancel():  # it has not started
                leave()

    async def _next(self, reports: Reports) -> object:
        try:
            async with asyncio.timeout(self.silence):
                item = await reports.get()
        except TimeoutError:
            return SILENCE
        if item is STOPPED:
            raise HttpError("the server was stopped in the middle of this reply", hint=RESTART, status=503)
        return item

    def stop(self) -> None:
        """Ends all turns with an error, from the event loop, before the server ends."""
        for reports in self._turns:
            reports.put_nowait(STOPPED)

    def close(self) -> None:
        self._pool.close()
        self._threads.shutdown(cancel_futures=True)
