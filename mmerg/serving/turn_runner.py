"""Turns that run on slots: each waits for one, first come first served, then runs in a thread and reports what happens.

If a client disconnects, its turn stops with its call to the model. The slot is free once the thread has ended.

    async for report in runner.run(job):  # QueuePlace(2), QueuePlace(0), all that `job` reports, and its result
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
from mmerg.serving.http_error import START, HttpError, build_internal_error, describe_bug

log = logging.getLogger(__name__)
Report = Callable[[object], None]
Job = Callable[[Backend, Report], object]
RESTART = "start `mmerg serve` again, then send the message again"
Reports = asyncio.Queue[object]
SILENCE, ENDED, STOPPED = object(), object(), object()


@dataclass(frozen=True)
class QueuePlace:
    """A turn's place in the queue."""

    ahead: int  # how many turns must end before this one starts; 0 when it starts


class TurnRunner:
    """A runner of turns on the slots of a pool. waiting: how many turns may wait for a slot. capacity: the number of
    turns at a time, running and waiting. silence: seconds without a report until SILENCE is reported."""

    def __init__(self, pool: Pool, waiting: int) -> None:
        self._pool, self._waiting = pool, waiting
        self.capacity = pool.slots + waiting
        self._threads = ThreadPoolExecutor(pool.slots, thread_name_prefix="turn")  # starts turns in their order
        self._turns: set[Reports] = set()
        self.silence = 5.0

    def run(self, job: Job) -> AsyncGenerator[object, None]:
        """Returns a generator of the turn's place in the queue, the reports of `job`, and its result. The generator
        raises what `job` raises, and HttpError with status 503 if no model server responds. Raises HttpError with
        status 503 at once if too many turns wait."""
        self._refuse_if_full()
        return self._run(job)

    def _refuse_if_full(self) -> None:
        if len(self._turns) >= self.capacity:
            what = f"{self._waiting} turns are already waiting for the model"
            raise HttpError(what, where="limits.waiting", hint="try again in a while", status=503)

    async def _run(self, job: Job) -> AsyncGenerator[object, None]:
        self._refuse_if_full()  # again, as others that came at the same time may have started
        loop, token, reports = asyncio.get_running_loop(), CancelToken(), Reports()
        ahead = max(0, len(self._turns) + 1 - self._pool.slots)

        def report(item: object) -> None:
            token.check()
            loop.call_soon_threadsafe(reports.put_nowait, item)

        def leave() -> None:
            self._turns.discard(reports)
            reports.put_nowait(ENDED)

        def run_in_slot() -> object:
            try:
                with token.scope():
                    if ahead:
                        report(QueuePlace(0))
                    with self._pool.lease() as backend:
                        return job(backend, report)
            except (ConfigError, RunError) as error:  # their hints are for runs
                raise HttpError(error.what, where=error.where, hint=START, status=503) from None
            finally:  # before the thread starts another turn
                loop.call_soon_threadsafe(leave)

        self._turns.add(reports)
        future = None
        try:
            yield QueuePlace(ahead)  # before the turn's thread competes for the interpreter
            future = self._threads.submit(run_in_slot)
            while (item := await self._next_report(reports)) is not ENDED:
                yield item
            yield await asyncio.wrap_future(future)
        except MmergError:
            raise
        except Exception as error:  # noqa: BLE001 - its traceback holds the user's text
            log.warning("%s", describe_bug(error))
            raise build_internal_error() from None
        finally:
            token.cancel()
            has_started = future and not future.cancel()
            if not has_started:
                leave()

    async def _next_report(self, reports: Reports) -> object:
        try:
            async with asyncio.timeout(self.silence):
                item = await reports.get()
        except TimeoutError:
            return SILENCE
        if item is STOPPED:
            raise HttpError("the server was stopped in the middle of this reply", hint=RESTART, status=503)
        return item

    def stop(self) -> None:
        """Ends all turns with an error. The event loop calls it before the server ends."""
        for reports in self._turns:
            reports.put_nowait(STOPPED)

    def close(self) -> None:
        self._pool.close()
        self._threads.shutdown(cancel_futures=True)
