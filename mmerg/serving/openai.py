"""OpenAI's API: models, and chat completions, streamed or whole.

While the agents work, a stream carries their outputs as `reasoning_content`, and the current step as events beside an
empty delta: Open WebUI shows these, other programs ignore them. `mmerg` says what made a reply: its emotion, its plan,
and by pass the outputs and the audit.
"""

import json
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Annotated, Literal
from uuid import uuid4

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from mmerg.errors import MmergError
from mmerg.serving.answers import Answer, Steps, Wish, answers, respond
from mmerg.serving.messages import AnySeed, Sent, read_base64, read_body, takes
from mmerg.serving.refused import HttpError, error_sentence, get_status
from mmerg.serving.served import AppState
from mmerg.serving.updates import Update

ALIVE = b": at work\n\n"  # a comment, for proxies and programs that give up on what is silent
END = b"data: [DONE]\n\n"


class ImageUrl(BaseModel):
    url: str


class Part(BaseModel):
    type: str
    text: str = ""
    image_url: ImageUrl | None = None


class Message(BaseModel):
    role: str
    content: str | list[Part] | None = None

    def sent(self, number: int) -> Sent:
        """Raises HttpError for a part that is neither text nor a picture that came along."""
        if not isinstance(self.content, list):
            return Sent(self.role, self.content or "")
        where = f"message {number}"
        for part in self.content:
            if not (part.type == "text" or (part.type == "image_url" and part.image_url)):
                what = f"a part of the type {part.type!r:.40} is not supported, or is empty"
                raise HttpError(what, where=where, hint="text, or image_url with a data URL")
        pictures = [read_base64(part.image_url.url, where) for part in self.content if part.image_url]
        return Sent(self.role, "\n".join(part.text for part in self.content if part.type == "text"), tuple(pictures))


class StreamOptions(BaseModel):
    include_usage: bool = False


class Format(BaseModel):
    type: Literal["text"] = "text"


class Completion(BaseModel):
    """The parts of a request that are used: no tools, as agents call none, and no samplers, as they have their own."""

    model: str
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    stop: str | list[str] | None = None
    seed: AnySeed = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    response_format: Format | None = None

    def wish(self) -> Wish:
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return Wish(stops, self.max_tokens, self.seed)


class Chunks:
    """Writes updates and the answer as chunks of a stream, or as one whole."""

    def __init__(self, body: Completion) -> None:
        self._said = False
        self._usage = bool(body.stream_options and body.stream_options.include_usage)
        self._head = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time()), "model": body.model}

    async def streamed(self, steps: Steps) -> AsyncGenerator[bytes, None]:
        yield self._delta({"role": "assistant", "content": ""})
        try:
            async with aclosing(steps):
                async for one in steps:
                    for chunk in self._answer(one) if isinstance(one, Answer) else self._update(one):
                        yield chunk
        except MmergError as error:
            yield _data(failed(error))
        yield END

    def whole(self, answer: Answer, thoughts: str) -> dict[str, object]:
        message = {"role": "assistant", "content": answer.text, "reasoning_content": thoughts}
        choice = {"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}
        more = {"mmerg": answer.about} if answer.about else {}
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": _usage(answer), **more}

    def _update(self, update: Update) -> Iterator[bytes]:
        if update.thought:
            yield self._delta({"reasoning_content": f"{update.thought}\n"})
        if update.status:
            yield self._status(update.status, done=False)
        if not (update.thought or update.status):
            yield ALIVE

    def _answer(self, answer: Answer) -> Iterator[bytes]:
        if not self._said:
            yield self._delta({"content": answer.text})
        self._said = True
        if answer.last:
            more = {"mmerg": answer.about} if answer.about else {}
            yield self._status(f"Done in {answer.seconds:.1f} s", done=True)
            yield self._delta({}, answer.finish, **more)
            if self._usage:
                yield self._chunk([], usage=_usage(answer), **more)

    def _delta(self, delta: dict[str, str], finish: str | None = None, **more: object) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": finish}], **more)

    def _status(self, text: str, *, done: bool) -> bytes:
        return self._delta({}, event={"type": "status", "data": {"description": text, "done": done}})

    def _chunk(self, choices: list[dict[str, object]], **more: object) -> bytes:
        return _data({**self._head, "object": "chat.completion.chunk", "choices": choices, **more})


def routes(served: AppState) -> APIRouter:
    router = APIRouter(prefix="/v1")

    @router.get("/models")
    async def models() -> dict[str, object]:
        return {"object": "list", "data": [_model(name) for name in served.offered]}

    @router.get("/models/{name}")
    async def model(name: str) -> dict[str, object]:
        return _model(served.model(name).id)

    @router.post("/chat/completions", openapi_extra=takes(Completion))
    async def complete(request: Request) -> Response:
        body = await read_body(request, Completion)
        chunks, sent = Chunks(body), [message.sent(number) for number, message in enumerate(body.messages, start=1)]
        steps = answers(served, served.model(body.model), sent, body.wish())
        streamed = chunks.streamed if body.stream else None
        return await respond(request, steps, streamed, "text/event-stream", chunks.whole)

    return router


def failed(error: MmergError) -> dict[str, object]:
    kind = "invalid_request_error" if get_status(error) < 500 else "server_error"
    return {"error": {"message": error_sentence(error), "type": kind, "param": error.where or None, "code": None}}


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "mmerg"}


def _usage(answer: Answer) -> dict[str, int]:
    prompt, response = answer.prompt_tokens, answer.response_tokens
    return {"prompt_tokens": prompt, "completion_tokens": response, "total_tokens": prompt + response}


def _data(chunk: dict[str, object]) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()
