"""Responses to chat programs, for both APIs: the agents' updates, then the answer.

return await respond(request, answers(state, served, messages, Wish(stops=["\\n"])), form, streams=True)
"""

import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from fastapi import Request as Http
from fastapi.responses import JSONResponse, Response

from mmerg.backends.protocol import Backend, Finish, Message, Reply, Request
from mmerg.errors import MmergError
from mmerg.runs.events import OVER_BUDGET, FramesTaken, SampleFailed
from mmerg.runs.result import Result
from mmerg.runs.trace import SampleTrace
from mmerg.serving.messages import Sent, reply_request, task_prompt
from mmerg.serving.offered import ServedSystem
from mmerg.serving.refused import CALL_STATUS, HttpError, hint_for
from mmerg.serving.turns import AppState, reply_updates, started, stream, unless_disconnected
from mmerg.serving.updates import SILENT, Update
from mmerg.serving.work import Report

TASK_TOKENS = 512  # of a title, tags or follow-ups


@dataclass(frozen=True)
class Wish:
    """What a request sets for its answer. stops: texts that end it."""

    stops: str | Sequence[str] | None
    seed: int | None

    def cut(self, text: str) -> str:
        """`text` up to the first stop."""
        stops = [self.stops] if isinstance(self.stops, str) else self.stops or ()
        return text[: min((at for stop in stops if stop and (at := text.find(stop)) >= 0), default=len(text))]


@dataclass(frozen=True)
class Answer:
    """finish: "stop", or "length" if the model was cut off. about: see `Updates.about`; None for a front end's own
    prompt. last: False for the reply of the first pass, which fast=true sends before its audit."""

    text: str
    finish: str
    prompt_tokens: int
    response_tokens: int
    seconds: float
    about: Mapping[str, object] | None = None
    last: bool = True

    @property
    def extra(self) -> dict[str, object]:
        """`about` as the field that both APIs add to a response."""
        return {"mmerg": self.about} if self.about else {}


Step = Update | Answer


class Form(Protocol):
    """How an API writes a response. write: the chunks of a step of a stream. fail: the chunk of an error. whole: the
    fields of a response that is not streamed."""

    media_type: str
    end: bytes

    def write(self, step: Step) -> Iterator[bytes]: ...
    def fail(self, error: MmergError) -> bytes: ...
    def whole(self, answer: Answer, thoughts: str) -> Mapping[str, object]: ...


def answers(state: AppState, served: ServedSystem, messages: Sequence[Sent], wish: Wish) -> AsyncGenerator[Step, None]:
    """The agents' work and its reply, or one plain call for a front end's own prompt. Raises MmergError: at once if no
    reply can follow the messages, later if the turn fails."""
    if prompt := task_prompt(messages):
        return _plain(state, served, prompt, wish)
    updates = reply_updates(state, reply_request(served, messages, state.settings, wish.seed))
    return _agents(updates, wish, fast=state.settings.fast)


async def respond(http: Http, steps: AsyncGenerator[Step, None], form: Form, *, streams: bool) -> Response:
    """The response: a stream of all steps, or the answer alone."""
    steps = await started(steps)
    if streams:
        return stream(steps, form.write, form.fail, form.media_type, form.end)
    return JSONResponse(form.whole(*await unless_disconnected(http, _last(steps))))


async def _last(steps: AsyncGenerator[Step, None]) -> tuple[Answer, str]:
    """The answer, and all thoughts before it, one per line."""
    thoughts: list[str] = []
    async with aclosing(steps):
        async for step in steps:
            if isinstance(step, Answer):
                return step, "\n".join(thoughts)
            thoughts += filter(None, [step.thought])
    raise AssertionError("a turn ends with an answer, or raises")


async def _plain(state: AppState, served: ServedSystem, prompt: str, wish: Wish) -> AsyncGenerator[Step, None]:
    request = Request((Message("user", prompt),), served.experiment.sampling.override({"num_predict": TASK_TOKENS}))

    def job(backend: Backend, _: Report) -> Reply:
        return backend.complete(request)

    async with aclosing(state.work.turn(job)) as reports:
        async for reply in reports:
            if isinstance(reply, Reply):
                finish = "length" if reply.finish is Finish.LENGTH else "stop"
                text = wish.cut(reply.text.strip())
                yield Answer(text, finish, reply.prompt_tokens, reply.response_tokens, reply.seconds)
            else:
                yield Update(SILENT, {})


async def _agents(updates: AsyncGenerator[Update, None], wish: Wish, *, fast: bool) -> AsyncGenerator[Step, None]:
    start = time.monotonic()
    async with aclosing(updates):
        async for update in updates:
            match update.cause:
                case Result() as result:
                    text, seconds = wish.cut(result.response or ""), time.monotonic() - start
                    yield Answer(text, "stop", result.prompt_tokens, result.response_tokens, seconds, update.about)
                case SampleTrace(calls=calls) if fast:
                    fast, replies = False, [call.event.reply for call in calls]
                    text, seconds = wish.cut(str(update.fields["draft"])), time.monotonic() - start
                    prompt_tokens = sum(reply.prompt_tokens for reply in replies)
                    tokens = sum(reply.response_tokens for reply in replies)
                    yield Answer(text, "stop", prompt_tokens, tokens, seconds, update.about, last=False)
                case SampleFailed(what=what, where=where, failure=failure, hint=hint):
                    status = CALL_STATUS.get(failure, 502)
                    raise HttpError(what, where=where, hint=hint_for(failure, hint), status=status)
                case FramesTaken():
                    _refuse_unusable(str(update.fields["problem"]))
            if update.thought or update.status or update.name == SILENT:
                yield update


def _refuse_unusable(problem: str) -> None:
    """Raises HttpError for pictures without a usable frame, unless later ones took all the room."""
    problems = [part for part in problem.split("; ") if part and OVER_BUDGET not in part]
    if problems:
        raise HttpError(f"a picture cannot be shown to the model: {'; '.join(problems)}", where="messages")
