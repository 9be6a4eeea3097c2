"""From a request for a reply to updates for its client, for every API alike; and clients that hang up.

async for update in replying(served, asked): ...
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing, suppress
from functools import partial
from typing import TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Send

from mmerg.backends.protocol import Backend
from mmerg.runs.events import Event
from mmerg.runs.result import Result
from mmerg.serving.chats import Turn
from mmerg.serving.refused import RefusedError
from mmerg.serving.served import Served
from mmerg.serving.talk import Asked
from mmerg.serving.updates import Update, Updates
from mmerg.serving.work import Report

Item = TypeVar("Item")
GONE = 499  # as proxies note a client that hung up


async def replying(served: Served, asked: Asked, turn: Turn | None = None) -> AsyncGenerator[Update, None]:
    """The updates until there is a reply, or the turn has failed; `turn` keeps the events and frames for saving. Raises
    MmergError where the turn cannot begin."""
    kept = turn or Turn(asked.offered.id, len(asked.said), kept=False)
    updates = Updates(asked.offered, kept.id)
    uploads, frames = asked.uploads, asked.offered.settings.frames

    def job(backend: Backend, report: Report) -> Result:
        def emit(event: Event) -> None:
            report(event)
            if turn:
                turn.note(event)

        result = asked.experiment.sample(asked.sample, backend, emit, kept.keep_frame)
        kept.end(result)
        return result

    steps = [served.work.turn(asked.owner, job)]
    if uploads.files:  # before the turn stands in the model's line, so that it holds up nobody there
        steps.insert(0, served.work.decoded(asked.owner, partial(uploads.take, frames)))
    for step in steps:
        async with aclosing(step) as happening:
            async for what in happening:
                for update in updates.of(what):
                    yield update
        updates.problems = uploads.problems()


async def begun(happening: AsyncGenerator[Item, None]) -> AsyncGenerator[Item, None]:
    """The same, its first item awaited: what is wrong from the start is raised here, before an answer has a status."""
    first = await anext(happening)

    async def all_of_it() -> AsyncGenerator[Item, None]:
        async with aclosing(happening):
            yield first
            async for item in happening:
                yield item

    return all_of_it()


class Streamed(StreamingResponse):
    """Ends its generator when the client is gone, in whatever moment."""

    async def stream_response(self, send: Send) -> None:
        assert isinstance(self.body_iterator, AsyncGenerator)
        async with aclosing(self.body_iterator):
            await super().stream_response(send)


async def unless_gone(request: Request, work: Awaitable[Item]) -> Item:
    """What `work` gives; it is cancelled once the client of `request`, whose body was read, has hung up."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise RefusedError("the client is gone", status=GONE)
    finally:
        for task in (working, gone):
            task.cancel()
            with suppress(BaseException):
                await task


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
