"""From a request for a reply to updates for its client, for every API alike; and clients that hang up.

async for update in reply_updates(served, asked): ...
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
from mmerg.serving.talk import ReplyRequest
from mmerg.serving.updates import Update, Updates
from mmerg.serving.work import Report

Item = TypeVar("Item")
GONE = 499  # as proxies note a client that hung up


async def reply_updates(served: Served, asked: ReplyRequest, turn: Turn | None = None) -> AsyncGenerator[Update, None]:
    """The updates until there is a reply, or the turn has failed; `turn` keeps the events and frames for saving. Raises
    MmergError where the turn cannot begin."""
    kept = turn or Turn(asked.offered.id, len(asked.talk), kept=False)
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
        steps.insert(0, served.work.decode(asked.owner, partial(uploads.take, frames)))
    for step in steps:
        async with aclosing(step) as reports:
            async for report in reports:
                for update in updates.of(report):
                    yield update
        updates.problems = uploads.problems()


async def started(items: AsyncGenerator[Item, None]) -> AsyncGenerator[Item, None]:
    """The same items, the first of them awaited here: what it raises is raised before the response has a status."""
    first = await anext(items)

    async def with_first() -> AsyncGenerator[Item, None]:
        async with aclosing(items):
            yield first
            async for item in items:
                yield item

    return with_first()


class Streamed(StreamingResponse):
    """Closes its generator when the client disconnects, at any moment."""

    async def stream_response(self, send: Send) -> None:
        assert isinstance(self.body_iterator, AsyncGenerator)
        async with aclosing(self.body_iterator):
            await super().stream_response(send)


async def unless_disconnected(request: Request, work: Awaitable[Item]) -> Item:
    """The result of `work`, which is cancelled once the client of `request` disconnects; its body was read before."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnect(request))
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


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
