"""What all routes share: the state of the app, a turn's updates, streams, and clients that disconnect.

async for update in reply_updates(state, request): ...
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import Response, StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Send

from mmerg.backends.protocol import Backend, Engine
from mmerg.backends.streaming import stream_to
from mmerg.errors import MmergError
from mmerg.experiment.talk import with_uploads
from mmerg.runs.events import Event
from mmerg.runs.result import Result
from mmerg.serving.offered import ServedSystem
from mmerg.serving.refused import HttpError, error_sentence
from mmerg.serving.saving import Trace
from mmerg.serving.speech import Transcriber
from mmerg.serving.talk import ReplyRequest
from mmerg.serving.updates import Update, Updates, Words
from mmerg.serving.work import Report, TurnRunner
from mmerg.settings.commands import ServeSettings

Item = TypeVar("Item")


@dataclass(frozen=True)
class AppState:
    """The systems and the turns at work; nothing that users say stays here. offered: systems by the name of their
    model. missing: the errors of those that cannot be served."""

    settings: ServeSettings
    engine: Engine
    offered: Mapping[str, ServedSystem]
    missing: Mapping[str, MmergError]
    work: TurnRunner
    speech: Transcriber | None = None

    def model(self, name: str) -> ServedSystem:
        """The system of that name; Ollama's programs append a tag. Raises HttpError for an unknown name."""
        name = name.removesuffix(":latest")
        if served := self.offered.get(name):
            return served
        if error := self.missing.get(name):
            raise HttpError(f"{name} is not available: {error_sentence(error)}", where="model", status=404)
        hint = f"one of {', '.join(self.offered)}"
        raise HttpError(f"there is no model {name!r:.80}", where="model", hint=hint, status=404)


async def reply_updates(
    state: AppState, request: ReplyRequest, *, traced: bool = False
) -> AsyncGenerator[Update, None]:
    """The updates until the reply comes or the turn fails. traced: with the whole trace, for a client that may save
    it. Raises MmergError if the turn cannot start."""
    frames: dict[str, bytes] = {}
    sample, uploads = request.build_sample()
    experiment = with_uploads(request.served.experiment, uploads, request.seed)
    updates = Updates(request.served, frames, uploads.problems)

    def keep_frame(sha256: str, read: Callable[[], bytes]) -> None:
        frames[sha256] = read()

    def job(backend: Backend, report: Report) -> Result:
        trace: list[Event] = []

        def emit(event: Event) -> None:
            trace.append(event)
            report(event)

        with stream_to(lambda text: report(Words(text))):
            result = experiment.run_sample(sample, backend, emit, keep_frame)
        if traced:
            report(Trace(manifest=request.served.manifest, result=result, events=tuple(trace)))
        return result

    async with aclosing(state.work.turn(job)) as reports:
        async for report in reports:
            for update in updates.of(report):
                yield update


async def started(items: AsyncGenerator[Item, None]) -> AsyncGenerator[Item, None]:
    """The same items. Awaits the first one here, so that its error is raised before the response has a status."""
    first = await anext(items)

    async def with_first() -> AsyncGenerator[Item, None]:
        async with aclosing(items):
            yield first
            async for item in items:
                yield item

    return with_first()


class Streamed(StreamingResponse):
    """Closes its items when the client disconnects."""

    async def stream_response(self, send: Send) -> None:
        assert isinstance(self.body_iterator, AsyncGenerator)
        async with aclosing(self.body_iterator):
            await super().stream_response(send)


def stream(
    items: AsyncGenerator[Item, None],
    write: Callable[[Item], Iterator[bytes]],
    fail: Callable[[MmergError], bytes],
    media_type: str,
    end: bytes = b"",
) -> Response:
    """A response with the chunks of each item. fail: writes the last chunk if the items raise."""

    async def chunks() -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(items):
                async for item in items:
                    for chunk in write(item):
                        yield chunk
        except MmergError as error:
            yield fail(error)
        yield end

    return Streamed(chunks(), media_type=media_type)


async def unless_disconnected(request: Request, work: Coroutine[Any, Any, Item]) -> Item:
    """The result of `work`. If the client disconnects first, cancels it and raises ClientDisconnect. The request's body
    must have been read."""
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
