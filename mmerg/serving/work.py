"""Turns at work: each waits for a slot, first come first served, then runs in a thread and reports what happens.

A turn whose client disconnects is stopped, with its call to the model; its slot is free once its thread has ended.

    async for step in work.turn(job):      # Place(2), Place(0), all that `job` reports, and what it returns
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
    """How many turns must end before this one begins; 0: it begins."""

    place: int


class TurnRunner:
    """Runs turns on the slots of `pool`; at most `waiting` others wait. most: turns at once, with those that wait.
    silence: seconds without a report after which SILENCE comes."""

    def __init__(self, pool: Pool, waiting: int) -> None:
        self._pool, self._waiting = pool, waiting
        self.most = pool.slots + waiting
        self._threads = ThreadPoolExecutor(pool.slots, thread_name_prefix="turn")
        self._turns: list[Reports] = []  # in the order in which they came: the first `pool.slots` run, the others wait
        self.silence = 15.0

    async def turn(self, job: Job) -> AsyncGenerator[object, None]:
        """The turn's places in the queue, what `job` reports, and what it returns. Raises what `job` raises, and
        HttpError (503) where too many turns wait or no model's server is there."""
        if len(self._turns) >= self.most:
            what = f"{self._waiting} turns are already waiting for the model"
            raise HttpError(what, where="limits.waiting", hint="try again in a while", status=503)
        loop, token, reports = asyncio.get_running_loop(), CancelToken(), Reports()

        def report(what: object) -> None:
            token.check()
            loop.call_soon_threadsafe(reports.put_nowait, what)

        def run() -> object:
            try:
                with token.scope():
                    if waited:
                        report(Place(0))
                    with self._pool.lease() as backend:
                        return job(backend, report)
            except (ConfigError, RunError) as error:  # their hints are for runs
                raise HttpError(error.what, where=error.where, hint=START, status=503) from None
            finally:  # before the thread begins another turn
                loop.call_soon_threadsafe(self._leave, reports)

        self._turns.append(reports)
        waited, future = self._tell_place(reports), None
        try:
            if not waited:  # sent before the turn's thread competes for the interpreter
                yield Place(0)
            future = self._threads.submit(run)
            while (one := await self._next(reports)) is not ENDED:
                yield one
            yield await asyncio.wrap_future(future)
        except MmergError:
            raise
        except Exception as error:  # noqa: BLE001 - its frames hold the user's words: none is kept
            log.warning("%s", describe_fault(error))
            raise code_fault() from None
        finally:
            token.cancel()
            if not future or future.cancel():  # it has not begun
                self._leave(reports)

    def _leave(self, reports: Reports) -> None:
        """Ends a turn, and tells those behind it their new place."""
        index = self._turns.index(reports)
        del self._turns[index]
        reports.put_nowait(ENDED)
        for behind in self._turns[index:]:
            self._tell_place(behind)

    def _tell_place(self, reports: Reports) -> bool:
        """Whether the turn has to wait; it then hears its place. One that has waited reports 0 from its thread."""
        place = self._turns.index(reports) + 1 - self._pool.slots
        if place > 0:
            reports.put_nowait(Place(place))
        return place > 0

    async def _next(self, reports: Reports) -> object:
        try:
            async with asyncio.timeout(self.silence):
                one = await reports.get()
        except TimeoutError:
            return SILENCE
        if one is STOPPED:
            raise HttpError("the server was stopped in the middle of this reply", hint=RESTART, status=503)
        return one

    def stop(self) -> None:
        """Ends all turns with an error, from the event loop: the server itself ends."""
        for reports in self._turns:
            reports.put_nowait(STOPPED)

    def close(self) -> None:
        self._pool.close()
        self._threads.shutdown(cancel_futures=True)
