"""Turns at work: each waits in the line, then runs in a thread of its own, and tells what happens as it happens.

The event loop only hands on. A turn whose client is gone is broken off, its call to the model too; its slot is free
once its thread has ended.

    async for told in work.turn("chat 7", job):      # Place(2), Place(0), all that `job` tells, and what it returns
        ...
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from mmerg.backends.pool import Pool
from mmerg.backends.protocol import Backend
from mmerg.backends.stop import Stop
from mmerg.errors import MmergError
from mmerg.serving.line import Line
from mmerg.serving.refused import FAULT, fault

log = logging.getLogger(__name__)
Tell = Callable[[object], None]
Job = Callable[[Backend, Tell], object]


@dataclass(frozen=True)
class Place:
    """How many turns must end before this one begins; 0: it begins."""

    place: int


class Work:
    """Turns on the slots of `pool`, of which at most `longest` wait. `close` breaks off all of them."""

    def __init__(self, pool: Pool, longest: int) -> None:
        self._pool = pool
        self._line = Line(pool.slots, longest)
        self._threads = ThreadPoolExecutor(pool.slots, thread_name_prefix="turn")

    async def turn(self, owner: str, job: Job) -> AsyncGenerator[object, None]:
        """The places in the line of `owner` and others, what `job` tells, what it returns. Raises what `job` raises,
        and RefusedError where the line is too long."""
        ticket = self._line.join(owner)
        try:
            while ticket.place:
                yield Place(ticket.place)
                await ticket.moved()
        except BaseException:
            ticket.leave()
            raise
        stop, told = Stop(), asyncio.Queue[object]()
        loop, ended = asyncio.get_running_loop(), object()

        def tell(what: object) -> None:
            stop.check()
            loop.call_soon_threadsafe(told.put_nowait, what)

        def work() -> object:
            with stop.over_this_thread(), self._pool.lease() as backend:
                return job(backend, tell)

        future = loop.run_in_executor(self._threads, work)

        def end(_: object) -> None:
            ticket.leave()
            told.put_nowait(ended)
            if not future.cancelled():
                future.exception()  # of a turn that nobody waits for it is not asked otherwise

        future.add_done_callback(end)
        try:
            yield Place(0)
            while (one := await told.get()) is not ended:
                yield one
            yield await future  # its slot is free by now: who hears the end may go on at once
        except MmergError:
            raise
        except Exception as error:
            log.warning("%s", fault(error))
            raise FAULT from error
        finally:
            stop.set()

    def close(self) -> None:
        """Closes the pool, and waits for the threads."""
        self._pool.close()
        with suppress(RuntimeError):
            self._threads.shutdown(cancel_futures=True)
