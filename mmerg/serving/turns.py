"""From a request for a reply to updates for its client, for every API alike; and clients that disconnect.

async for update in reply_updates(served, asked): ...
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Send

from mmerg.backends.protocol import Backend
from mmerg.backends.words import listening
from mmerg.runs.events import Event
from mmerg.runs.result import Result
from mmerg.serving.saving import Trace
from mmerg.serving.served import AppState
from mmerg.serving.talk import ReplyRequest
from mmerg.serving.updates import Update, Updates, Words
from mmerg.serving.work import Report

Item = TypeVar("Item")


async def reply_updates(served: AppState, asked: ReplyRequest, *, traced: bool = False) -> AsyncGenerator[Update, None]:
    """The updates until there is a reply, or the turn has failed. traced: with one that holds the whole trace, for a
    client that may save it. Raises MmergError where the turn cannot begin."""
    frames: dict[str, bytes] = {}
    updates = Updates(asked.offered, frames, asked.uploads.problems)

    def keep_frame(sha256: str, read: Callable[[], bytes]) -> None:
        frames[sha256] = read()

    def job(backend: Backend, report: Report) -> Result:
        trace: list[Event] = []

        def emit(event: Event) -> None:
            trace.append(event)
            report(event)

        with listening(lambda text: report(Words(text))):
            result = asked.experiment.sample(asked.sample, backend, emit, keep_frame)
        if traced:
            report(Trace(manifest=asked.offered.manifest, result=result, events=tuple(trace)))
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
