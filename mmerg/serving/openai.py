"""OpenAI's API: models, and chat completions, streamed or whole.

While the agents work, a stream carries their outputs as `reasoning_content`, and the current step as events beside an
empty delta: Open WebUI shows these, other programs ignore them. `mmerg` describes the reply: its emotion and plan, and
by pass the outputs and the audit.
"""

import json
import time
from collections.abc import Iterator
from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from mmerg.errors import MmergError
from mmerg.serving.answers import Answer, Step, Wish, answers, respond
from mmerg.serving.messages import AnySeed, Sent, read_base64, read_body, takes
from mmerg.serving.refused import HttpError, error_sentence, get_status
from mmerg.serving.turns import AppState

ALIVE = b": at work\n\n"  # a comment, so that proxies and programs do not give up


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
        """Raises HttpError for a part that is neither text nor a picture in a data URL."""
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


class Completion(BaseModel):
    """The parts of a request that are used: no tools, as agents call none, and no samplers, as they have their own."""

    model: str
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    stop: str | list[str] | None = None
    seed: AnySeed = None


class Chunks:
    """Writes a response as chunks of a stream, or as one object."""

    media_type, end = "text/event-stream", b"data: [DONE]\n\n"

    def __init__(self, body: Completion) -> None:
        self._started = self._answered = False
        self._usage = bool(body.stream_options and body.stream_options.include_usage)
        self._head = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time()), "model": body.model}

    def write(self, step: Step) -> Iterator[bytes]:
        if not self._started:
            yield self._delta({"role": "assistant", "content": ""})
            self._started = True
        if isinstance(step, Answer):
            if not self._answered:
                yield self._delta({"content": step.text})
            self._answered = True
            if not step.last:
                return
            yield self._status(f"Done in {step.seconds:.1f} s", done=True)
            yield self._delta({}, step.finish, **step.extra)
            if self._usage:
                yield self._chunk([], usage=_usage(step), **step.extra)
            return
        if step.thought:
            yield self._delta({"reasoning_content": f"{step.thought}\n"})
        if step.status:
            yield self._status(step.status, done=False)
        if not (step.thought or step.status):
            yield ALIVE

    def fail(self, error: MmergError) -> bytes:
        return _data(failed(error))

    def whole(self, answer: Answer, thoughts: str) -> dict[str, object]:
        message = {"role": "assistant", "content": answer.text, "reasoning_content": thoughts}
        choice = {"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}
        body = {"object": "chat.completion", "choices": [choice], "usage": _usage(answer)}
        return {**self._head, **body, **answer.extra}

    def _delta(self, delta: dict[str, str], finish: str | None = None, **more: object) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": finish}], **more)

    def _status(self, text: str, *, done: bool) -> bytes:
        return self._delta({}, event={"type": "status", "data": {"description": text, "done": done}})

    def _chunk(self, choices: list[dict[str, object]], **more: object) -> bytes:
        return _data({**self._head, "object": "chat.completion.chunk", "choices": choices, **more})


def routes(state: AppState) -> APIRouter:
    router = APIRouter(prefix="/v1")

    @router.get("/models")
    async def models() -> dict[str, object]:
        return {"object": "list", "data": [_model(name) for name in state.offered]}

    @router.get("/models/{name}")
    async def model(name: str) -> dict[str, object]:
        return _model(state.model(name).id)

    @router.post("/chat/completions", openapi_extra=takes(Completion))
    async def complete(request: Request) -> Response:
        body = await read_body(request, Completion)
        sent = [message.sent(number) for number, message in enumerate(body.messages, start=1)]
        steps = answers(state, state.model(body.model), sent, Wish(body.stop, body.seed))
        return await respond(request, steps, Chunks(body), streams=bool(body.stream))

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
