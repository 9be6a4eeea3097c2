"""Shared by all routes: the state of the app, the updates of a turn, and streams.

async for update in run_turn(state, request): ...
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar

from fastapi.responses import Response, StreamingResponse
from starlette.types import Send

from mmerg.backends.protocol import Backend, Engine
from mmerg.backends.streaming import stream_to
from mmerg.errors import MmergError
from mmerg.experiment.talk import with_uploads
from mmerg.runs.events import Event
from mmerg.runs.result import Result
from mmerg.serving.http_error import HttpError, error_as_text
from mmerg.serving.saving import ReplyTrace
from mmerg.serving.speech import Transcriber
from mmerg.serving.systems import ServedSystem
from mmerg.serving.talk import ReplyRequest
from mmerg.serving.turn_runner import Report, TurnRunner
from mmerg.serving.updates import TextPiece, Update, Updates
from mmerg.settings.commands import ServeSettings

Item = TypeVar("Item")


@dataclass(frozen=True)
class AppState:
    """The state that all requests share. It holds nothing that users say."""

    settings: ServeSettings
    engine: Engine
    systems: Mapping[str, ServedSystem]  # by the names of their models
    unavailable: Mapping[str, MmergError]  # likewise, the errors of systems that cannot be served
    turn_runner: TurnRunner
    speech: Transcriber | None = None

    def find_system(self, model: str) -> ServedSystem:
        """Returns the system of a model. Raises HttpError if there is none of that name."""
        name = model.removesuffix(":latest")  # Ollama's programs append a tag
        if served := self.systems.get(name):
            return served
        if error := self.unavailable.get(name):
            raise HttpError(f"{name} is not available: {error_as_text(error)}", where="model", status=404)
        hint = f"one of {', '.join(self.systems)}"
        raise HttpError(f"there is no model {name!r:.80}", where="model", hint=hint, status=404)


def run_turn(state: AppState, request: ReplyRequest, *, with_trace: bool = False) -> AsyncGenerator[Update, None]:
    """Runs a turn. Returns a generator of its updates until the reply comes or the turn fails. with_trace: yield the
    whole trace too, for a client that may save it. Raises MmergError if the turn cannot start."""
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

        with stream_to(lambda text: report(TextPiece(text))):
            result = experiment.run_sample(sample, backend, emit, keep_frame)
        if with_trace:
            report(ReplyTrace(manifest=request.served.manifest, result=result, events=tuple(trace)))
        return result

    return _convert(state.turn_runner.run(job), updates)


async def _convert(reports: AsyncGenerator[object, None], updates: Updates) -> AsyncGenerator[Update, None]:
    async with aclosing(reports):
        async for report in reports:
            for update in updates.convert(report):
                yield update


class ClosingStream(StreamingResponse):
    """A stream that closes its generator when the client disconnects."""

    async def stream_response(self, send: Send) -> None:
        assert isinstance(self.body_iterator, AsyncGenerator)
        async with aclosing(self.body_iterator):
            await super().stream_response(send)


def stream_response(
    items: AsyncGenerator[Item, None],
    write: Callable[[Item], Iterator[bytes]],
    fail: Callable[[MmergError], bytes],
    media_type: str,
    end: bytes = b"",
) -> Response:
    """Builds a streamed response from the chunks that `write` yields for each item. fail: returns the last chunk if the
    items raise MmergError. end: the bytes after the last chunk."""

    async def chunks() -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(items):
                async for item in items:
                    for chunk in write(item):
                        yield chunk
        except MmergError as error:
            yield fail(error)
        yield end

    return ClosingStream(chunks(), media_type=media_type)
