"""Responses to chat programs over either API: the agents' updates, then the reply.

steps = run_request(state, served, messages, ReplyOptions(stops=["\\n"], seed=None))
return await respond(request, steps, response_format, streams=True)
"""

import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from fastapi import Request as Http
from fastapi.responses import JSONResponse, Response
from starlette.requests import ClientDisconnect

from mmerg.backends.protocol import Completion, Finish, Message, Request
from mmerg.errors import MmergError
from mmerg.runs.events import OVER_BUDGET, FramesTaken, SampleFailed
from mmerg.runs.result import Result
from mmerg.runs.trace import SampleTrace
from mmerg.serving.http_error import CALL_STATUS, HttpError, choose_hint
from mmerg.serving.messages import ChatMessage, build_reply_request, find_task_prompt
from mmerg.serving.systems import ServedSystem
from mmerg.serving.turns import AppState, run_turn, stream_response
from mmerg.serving.updates import SILENT, Update

TASK_TOKENS = 512  # limit for a title, tags or follow-up questions


@dataclass(frozen=True)
class ReplyOptions:
    """A request's options for its reply."""

    stops: str | Sequence[str] | None  # texts that end the reply, which does not contain them
    seed: int | None  # of all calls; None for that of the settings

    def cut(self, text: str) -> str:
        stops = [self.stops] if isinstance(self.stops, str) else self.stops or ()
        positions = [text.find(stop) for stop in stops if stop]
        return text[: min((position for position in positions if position >= 0), default=len(text))]


@dataclass(frozen=True)
class FinalReply:
    """A reply as chat programs receive it."""

    text: str
    finish: str  # "stop", or "length" if the model reached its token limit
    prompt_tokens: int
    response_tokens: int
    seconds: float  # from the request to the reply
    details: Mapping[str, object] | None = None  # see `Updates.details`; None for a front end's own prompt
    last: bool = True  # False for the reply of the first pass, which fast=true sends before its audit

    @property
    def extra(self) -> dict[str, object]:
        """`details` as the field that both APIs add to a response."""
        return {"mmerg": self.details} if self.details else {}


Step = Update | FinalReply


class ResponseFormat(Protocol):
    """The format in which an API writes a response."""

    media_type: str  # of a stream
    end: bytes  # the last bytes of a stream

    def write(self, step: Step) -> Iterator[bytes]:
        """Yields the chunks of one step of a stream."""

    def fail(self, error: MmergError) -> bytes:
        """Returns the chunk that reports an error in a stream."""

    def whole(self, reply: FinalReply, thoughts: str) -> Mapping[str, object]:
        """Returns the fields of a response that is not streamed."""


def run_request(
    state: AppState, served: ServedSystem, messages: Sequence[ChatMessage], options: ReplyOptions
) -> AsyncGenerator[Step, None]:
    """Runs the agents and yields their updates and the reply. A front end's own prompt is one plain call instead.
    Raises MmergError: at once if no reply can follow the messages, while iterating if the turn fails."""
    if prompt := find_task_prompt(messages):
        return _run_task_prompt(state, served, prompt, options)
    updates = run_turn(state, build_reply_request(served, messages, state.settings, options.seed))
    return _run_agents(updates, options, fast=state.settings.fast)


async def respond(
    http: Http, steps: AsyncGenerator[Step, None], response_format: ResponseFormat, *, streams: bool
) -> Response:
    """Returns a stream of all steps, or one response with the reply."""
    if streams:
        write, fail = response_format.write, response_format.fail
        return stream_response(steps, write, fail, response_format.media_type, response_format.end)
    thoughts: list[str] = []
    async with aclosing(steps):
        async for step in steps:
            if isinstance(step, FinalReply):
                return JSONResponse(response_format.whole(step, "\n".join(thoughts)))
            if await http.is_disconnected():
                break
            if step.thought:
                thoughts.append(step.thought)
    raise ClientDisconnect


def _run_task_prompt(
    state: AppState, served: ServedSystem, prompt: str, options: ReplyOptions
) -> AsyncGenerator[Step, None]:
    request = Request((Message("user", prompt),), served.experiment.sampling.override({"num_predict": TASK_TOKENS}))
    return _convert_completion(state.turn_runner.run(lambda backend, _: backend.complete(request)), options)


async def _convert_completion(
    reports: AsyncGenerator[object, None], options: ReplyOptions
) -> AsyncGenerator[Step, None]:
    async with aclosing(reports):
        async for report in reports:
            if isinstance(report, Completion):
                finish = "length" if report.finish is Finish.LENGTH else "stop"
                text = options.cut(report.text.strip())
                yield FinalReply(text, finish, report.prompt_tokens, report.response_tokens, report.seconds)
            else:
                yield Update(SILENT, {})


async def _run_agents(
    updates: AsyncGenerator[Update, None], options: ReplyOptions, *, fast: bool
) -> AsyncGenerator[Step, None]:
    start = time.monotonic()
    async with aclosing(updates):
        async for update in updates:
            seconds = time.monotonic() - start
            match update.cause:
                case Result() as result:
                    text = options.cut(result.response or "")
                    yield FinalReply(
                        text, "stop", result.prompt_tokens, result.response_tokens, seconds, update.details
                    )
                case SampleTrace(calls=calls) if fast:
                    fast = False
                    text = options.cut(str(update.fields["draft"]))
                    prompt_tokens = sum(call.event.completion.prompt_tokens for call in calls)
                    tokens = sum(call.event.completion.response_tokens for call in calls)
                    yield FinalReply(text, "stop", prompt_tokens, tokens, seconds, update.details, last=False)
                case SampleFailed(what=what, where=where, failure=failure, hint=hint):
                    status = CALL_STATUS.get(failure, 502)
                    raise HttpError(what, where=where, hint=choose_hint(failure, hint), status=status)
                case FramesTaken():
                    _refuse_unusable_pictures(str(update.fields["problem"]))
            if update.thought or update.status or update.name == SILENT:
                yield update


def _refuse_unusable_pictures(problem: str) -> None:
    """Raises HttpError for pictures without a usable frame, unless the frames of later pictures filled the limit."""
    problems = [part for part in problem.split("; ") if part and OVER_BUDGET not in part]
    if problems:
        raise HttpError(f"a picture cannot be shown to the model: {'; '.join(problems)}", where="messages")
