"""From a request for a reply to updates for its client, for every API alike; and clients that disconnect.

async for update in reply_updates(served, asked): ...
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Send

from mmerg.backends.protocol import Backend
from mmerg.runs.events import Event
from mmerg.runs.result import Result
from mmerg.serving.chats import Turn
from mmerg.serving.served import AppState
from mmerg.serving.talk import ReplyRequest
from mmerg.serving.updates import Update, Updates
from mmerg.serving.work import Report

Item = TypeVar("Item")


async def reply_updates(
    served: AppState, asked: ReplyRequest, turn: Turn | None = None
) -> AsyncGenerator[Update, None]:
    """The updates until there is a reply, or the turn has failed; `turn` keeps the events and frames for saving. Raises
    MmergError where the turn cannot begin."""
    kept = turn or Turn(asked.offered.id, len(asked.talk), kept=False)
    updates = Updates(asked.offered, kept.id, asked.uploads.problems)

    def job(backend: Backend, report: Report) -> Result:
        def emit(event: Event) -> None:
            report(event)
            if turn:
                turn.events.append(event)

        result = asked.experiment.sample(asked.sample, backend, emit, kept.keep_frame)
        kept.result = result
        return result

    async with aclosing(served.work.turn(job)) as reports:
        async for report in reports:
            for update in updates.of(report):
                yield update


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


async def unless_disconnected(request: Request, work: Coroutine[Any, Any, Item]) -> Item:
    """The result of `work`. If the client disconnects first, cancels it and raises ClientDisconnect. The request's body
    was read before."""
    working = asyncio.create_task(work)
    gone = asyncio.create_task(_disconnect(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        gone.cancel()
        working.cancel()


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
