"""Turns at work: each waits in the line, then runs in a thread of its own, and reports what happens as it happens.

A turn whose client disconnects is stopped, with its call to the model; its slot is free once its thread has ended.

    async for step in work.turn("chat 7", job):      # Place(2), Place(0), all that `job` reports, and what it returns
        ...
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from mmerg.backends.pool import Pool
from mmerg.backends.protocol import Backend
from mmerg.backends.stop import Stop
from mmerg.errors import ConfigError, MmergError, RunError
from mmerg.serving.line import Line
from mmerg.serving.refused import START, RefusedError, code_fault, describe_fault

log = logging.getLogger(__name__)
Report = Callable[[object], None]
Job = Callable[[Backend, Report], object]
DECODERS = 2  # processes at once
SILENCE = object()


@dataclass(frozen=True)
class Place:
    """How many turns must end before this one begins; 0: it begins."""

    place: int


class Work:
    """Runs turns on the slots of `pool`, and the decoding before them; at most `longest` of each wait. silence: seconds
    without a report after which SILENCE comes. `close` stops all of them."""

    def __init__(self, pool: Pool, longest: int) -> None:
        self._pool = pool
        self._turns = Line(pool.slots, longest), ThreadPoolExecutor(pool.slots, thread_name_prefix="turn")
        self._decoding = Line(DECODERS, longest), ThreadPoolExecutor(DECODERS, thread_name_prefix="decoding")
        self.silence = 15.0

    def turn(self, owner: str, job: Job) -> AsyncGenerator[object, None]:
        """The turn's places in the line, what `job` reports, and what it returns. Raises what `job` raises, and
        RefusedError where the line is too long, or no model's server is there."""

        def leased(report: Report) -> object:
            try:
                with self._pool.lease() as backend:
                    return job(backend, report)
            except (ConfigError, RunError) as error:  # their hints are for runs
                raise RefusedError(error.what, where=error.where, hint=START, status=503) from None

        return self._run(*self._turns, owner, leased)

    def decode(self, owner: str, job: Callable[[], object]) -> AsyncGenerator[object, None]:
        """As `turn`, for a job that decodes uploads."""
        return self._run(*self._decoding, owner, lambda _: job())

    async def _run(
        self, line: Line, threads: ThreadPoolExecutor, owner: str, job: Callable[[Report], object]
    ) -> AsyncGenerator[object, None]:
        ticket = line.join(owner)
        try:
            while place := line.place(ticket):
                yield Place(place)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.silence):
                        await line.moved(ticket, place)
        except BaseException:
            line.leave(ticket)
            raise
        stop, reports = Stop(), asyncio.Queue[object]()
        loop, ended = asyncio.get_running_loop(), object()

        def report(what: object) -> None:
            stop.check()
            loop.call_soon_threadsafe(reports.put_nowait, what)

        def work() -> object:
            with stop.over_this_thread():
                return job(report)

        def end(_: object) -> None:
            line.leave(ticket)
            reports.put_nowait(ended)
            if not future.cancelled():
                future.exception()  # asked for, as asyncio logs one of which nobody hears

        future = loop.run_in_executor(threads, work)
        future.add_done_callback(end)
        try:
            yield Place(0)
            while (one := await self._next(reports)) is not ended:
                yield one
            yield await future  # its slot is free by now: who hears the end may go on at once
        except MmergError:
            raise
        except Exception as error:  # noqa: BLE001 - its frames hold the user's words: none is kept
            log.warning("%s", describe_fault(error))
            raise code_fault() from None
        finally:
            stop.set()

    async def _next(self, reports: asyncio.Queue[object]) -> object:
        try:
            async with asyncio.timeout(self.silence):
                return await reports.get()
        except TimeoutError:
            return SILENCE

    def close(self) -> None:
        """Closes the pool, and waits for the threads."""
        self._pool.close()
        for _, threads in (self._turns, self._decoding):
            with suppress(RuntimeError):
                threads.shutdown(cancel_futures=True)
