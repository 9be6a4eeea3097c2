"""What chat programs are answered, before it is put as their API has it: what is done now, and the answer at the end.

async for one in answers(served, offered, sent, Wish(stops=["\n"])):
    ...    # Doing("Perception: …", "Emotion forecast"), …, Answer("That must hurt.", …)
"""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from fastapi import Request as Http
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from mmerg.backends.protocol import Backend, Finish, Message, Reply, Request
from mmerg.errors import Failure
from mmerg.runs.events import OVER_BUDGET
from mmerg.serving.messages import Sent, asked_of, owner_of, task_of
from mmerg.serving.offered import Offered
from mmerg.serving.refused import OF_CALLS, RefusedError
from mmerg.serving.served import Served
from mmerg.serving.told import SILENT
from mmerg.serving.told import Message as Told
from mmerg.serving.turns import Streamed, begun, replying, unless_gone
from mmerg.serving.worded import worded
from mmerg.serving.work import Tell

TASK_TOKENS = 512  # of a title, tags or follow-ups
TASK_TURNS = 8  # that front ends quote in what they ask for, with words of their own


@dataclass(frozen=True)
class Wish:
    """stops: texts at which the answer is to end. tokens: at most, of what front ends ask for themselves. user: who
    asks, as far as that can be told."""

    stops: Sequence[str] = ()
    tokens: int | None = None
    seed: int | None = None
    user: str = ""

    def until(self, text: str) -> str:
        """`text` up to the first of the texts at which it is to end."""
        return text[: min((at for stop in self.stops if stop and (at := text.find(stop)) >= 0), default=len(text))]


@dataclass(frozen=True)
class Doing:
    """A line for a thinking block, and one for a status line; either may be empty, and both for a sign of life."""

    thought: str
    status: str


@dataclass(frozen=True)
class Answer:
    """finish: stop, or length where the model was cut off."""

    text: str
    finish: str
    prompt_tokens: int
    response_tokens: int
    seconds: float


Happening = AsyncGenerator[Doing | Answer, None]


def answers(served: Served, offered: Offered, sent: Sequence[Sent], wish: Wish) -> Happening:
    """The agents' work and its reply; what a front end asks for itself is one plain call. Raises MmergError, at once
    for what is no talk."""
    if prompt := task_of(sent):
        return _plain(served, offered, prompt, wish)
    asked = asked_of(offered, sent, served.settings.limits, wish.seed, wish.user)
    return _agents(replying(served, asked), wish)


async def respond(
    request: Http,
    ask: Callable[[], Happening],
    streamed: Callable[[Happening], AsyncGenerator[bytes, None]] | None,
    media_type: str,
    whole: Callable[[Answer, str], dict[str, Any]],
) -> Response:
    """The response to a request: a stream of what happens, or the answer alone with all thoughts before it."""
    happening = await begun(await run_in_threadpool(ask))
    if streamed:
        return Streamed(streamed(happening), media_type=media_type)
    return JSONResponse(whole(*await unless_gone(request, _last(happening))))


async def _last(happening: Happening) -> tuple[Answer, str]:
    thoughts: list[str] = []
    async with aclosing(happening):
        async for one in happening:
            if isinstance(one, Answer):
                return one, "\n".join(thoughts)
            thoughts += filter(None, [one.thought])
    raise AssertionError("a turn ends with an answer, or raises")


async def _plain(served: Served, offered: Offered, prompt: str, wish: Wish) -> Happening:
    if len(prompt) > (most := served.settings.limits.text * TASK_TURNS):
        long = f"the prompt has {len(prompt)} characters, over {most}"
        raise RefusedError(long, where="messages", hint="ask for less, or raise limits.text")
    tokens = min(wish.tokens or TASK_TOKENS, TASK_TOKENS)
    request = Request((Message("user", prompt),), offered.experiment.sampling.changed({"num_predict": tokens}))

    def job(backend: Backend, _: Tell) -> Reply:
        return backend.complete(request)

    async with aclosing(served.work.turn(owner_of(wish.user, prompt), job)) as happening:
        async for what in happening:
            if isinstance(what, Reply):
                finish = "length" if what.finish is Finish.LENGTH else "stop"
                text = wish.until(what.text.strip())
                yield Answer(text, finish, what.prompt_tokens, what.response_tokens, what.seconds)
            else:
                yield Doing("", "")


async def _agents(happening: AsyncGenerator[Told, None], wish: Wish) -> Happening:
    text, begun = "", time.monotonic()
    async with aclosing(happening):
        async for name, told in happening:
            _refuse(name, told)
            doing = Doing(*worded((name, told)))
            if name == "reply":
                text = wish.until(told["text"])
            elif name == "done":
                yield Answer(text, "stop", told["prompt_tokens"], told["response_tokens"], time.monotonic() - begun)
            elif name == SILENT or doing != Doing("", ""):
                yield doing


def _refuse(name: str, told: dict[str, str]) -> None:
    """Raises RefusedError where the turn has failed, or a picture could not be shown."""
    if name == "failed":
        code = OF_CALLS.get(Failure(told["failure"]), 502)
        raise RefusedError(told["what"], where=told["where"], hint=told["hint"], status=code)
    problems = [one for one in told.get("problem", "").split("; ") if one and OVER_BUDGET not in one]
    if name == "frames" and problems:
        raise RefusedError(f"a picture cannot be shown to the model: {'; '.join(problems)}", where="messages")
