"""Answers to chat programs, before an API gives them its form: updates while the agents work, then the answer.

async for one in answers(served, offered, sent, Wish(stops=["\n"])):
    ...    # Update("said", …, "Perception: …"), …, Answer("That must hurt.", …)
"""

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from fastapi import Request as Http
from fastapi.responses import JSONResponse, Response

from mmerg.backends.protocol import Backend, Finish, Message, Reply, Request
from mmerg.runs.events import OVER_BUDGET, FramesTaken, SampleFailed
from mmerg.runs.result import Result
from mmerg.runs.story import Story
from mmerg.serving.messages import Sent, reply_request, task_prompt
from mmerg.serving.offered import ServedSystem
from mmerg.serving.refused import OF_CALLS, HttpError, hint_for
from mmerg.serving.served import AppState
from mmerg.serving.turns import Streamed, reply_updates, started, unless_disconnected
from mmerg.serving.updates import SILENT, Update
from mmerg.serving.work import Report

TASK_TOKENS = 512  # of a title, tags or follow-ups


@dataclass(frozen=True)
class Wish:
    """What a request sets for its answer. stops: texts before which it ends. tokens: the most for what front ends ask
    for their own use."""

    stops: Sequence[str] = ()
    tokens: int | None = None
    seed: int | None = None

    def until(self, text: str) -> str:
        """`text` up to the first of `stops`."""
        return text[: min((at for stop in self.stops if stop and (at := text.find(stop)) >= 0), default=len(text))]


@dataclass(frozen=True)
class Answer:
    """finish: stop, or length where the model was cut off. about: what made the reply, see `Updates.about`; None where
    no agent did. last: False for the first pass's reply, where fast=true sends it before its audit."""

    text: str
    finish: str
    prompt_tokens: int
    response_tokens: int
    seconds: float
    about: Mapping[str, object] | None = None
    last: bool = True


Steps = AsyncGenerator[Update | Answer, None]
ALIVE = Update(SILENT, {})


def answers(served: AppState, offered: ServedSystem, sent: Sequence[Sent], wish: Wish) -> Steps:
    """The agents' work and its reply, or one plain call for what a front end asks for its own use. Raises MmergError:
    at once where the messages are no talk, later where the turn fails."""
    if prompt := task_prompt(sent):
        return _plain(served, offered, prompt, wish)
    asked = reply_request(offered, sent, served.settings, wish.seed)
    return _agents(reply_updates(served, asked), wish, fast=served.settings.fast)


async def respond(
    request: Http,
    steps: Steps,
    streamed: Callable[[Steps], AsyncGenerator[bytes, None]] | None,
    media_type: str,
    whole: Callable[[Answer, str], Mapping[str, object]],
) -> Response:
    """The response to a request: a stream of updates and the answer, or the answer alone with all thoughts before
    it."""
    steps = await started(steps)
    if streamed:
        return Streamed(streamed(steps), media_type=media_type)
    return JSONResponse(whole(*await unless_disconnected(request, _last(steps))))


async def _last(steps: Steps) -> tuple[Answer, str]:
    thoughts: list[str] = []
    async with aclosing(steps):
        async for one in steps:
            if isinstance(one, Answer):
                return one, "\n".join(thoughts)
            thoughts += filter(None, [one.thought])
    raise AssertionError("a turn ends with an answer, or raises")


async def _plain(served: AppState, offered: ServedSystem, prompt: str, wish: Wish) -> Steps:
    tokens = min(wish.tokens or TASK_TOKENS, TASK_TOKENS)
    request = Request((Message("user", prompt),), offered.experiment.sampling.changed({"num_predict": tokens}))

    def job(backend: Backend, _: Report) -> Reply:
        return backend.complete(request)

    async with aclosing(served.work.turn(job)) as steps:
        async for reply in steps:
            if isinstance(reply, Reply):
                finish = "length" if reply.finish is Finish.LENGTH else "stop"
                text = wish.until(reply.text.strip())
                yield Answer(text, finish, reply.prompt_tokens, reply.response_tokens, reply.seconds)
            else:
                yield ALIVE


async def _agents(updates: AsyncGenerator[Update, None], wish: Wish, *, fast: bool) -> Steps:
    begun = time.monotonic()
    async with aclosing(updates):
        async for update in updates:
            match update.cause:
                case Result() as result:
                    text, seconds = wish.until(result.response or ""), time.monotonic() - begun
                    yield Answer(text, "stop", result.prompt_tokens, result.response_tokens, seconds, update.about)
                case Story(calls=calls) if fast:
                    fast, made = False, [call.event.reply for call in calls]
                    tokens = sum(one.prompt_tokens for one in made), sum(one.response_tokens for one in made)
                    text, seconds = wish.until(str(update.fields["draft"])), time.monotonic() - begun
                    yield Answer(text, "stop", *tokens, seconds, update.about, last=False)
                case SampleFailed(what=what, where=where, failure=failure, hint=hint):
                    code = OF_CALLS.get(failure, 502)
                    raise HttpError(what, where=where, hint=hint_for(failure, hint), status=code)
                case FramesTaken():
                    _refuse_unusable(str(update.fields["problem"]))
            if update.thought or update.status or update.name == SILENT:
                yield update


def _refuse_unusable(problem: str) -> None:
    """Raises HttpError where pictures give no frames, unless later ones took all the room."""
    problems = [one for one in problem.split("; ") if one and OVER_BUDGET not in one]
    if problems:
        raise HttpError(f"a picture cannot be shown to the model: {'; '.join(problems)}", where="messages")
