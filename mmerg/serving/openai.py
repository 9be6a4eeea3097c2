"""OpenAI's API: models, and chat completions, streamed or whole.

While the agents work, a stream carries their outputs as `reasoning_content`. Events beside an empty delta name the
current step: Open WebUI shows them, other programs ignore them. The field `mmerg` holds the details of the reply: its
emotion and plan, and the outputs and audit of each pass.
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
from mmerg.serving.http_error import HttpError, error_as_text, get_status
from mmerg.serving.messages import AnySeed, decode_pictures, describe_body, read_base64, read_body
from mmerg.serving.responses import respond, run_request
from mmerg.serving.talk import Utterance
from mmerg.serving.turns import AppState
from mmerg.serving.updates import Reply, Update

ALIVE = b": at work\n\n"  # a comment, which keeps proxies and programs from timing out


class ImageUrl(BaseModel):
    url: str


class MessagePart(BaseModel):
    type: str
    text: str = ""
    image_url: ImageUrl | None = None


class OpenAIMessage(BaseModel):
    role: str
    content: str | list[MessagePart] | None = None

    def convert(self, number: int) -> Utterance:
        """Converts message `number`. Raises HttpError for a part that is neither text nor a picture in a data URL."""
        if not isinstance(self.content, list):
            return Utterance(self.role, self.content or "")
        where = f"message {number}"
        for part in self.content:
            if not (part.type == "text" or (part.type == "image_url" and part.image_url)):
                what = f"a part of the type {part.type!r:.40} is not supported, or is empty"
                raise HttpError(what, where=where, hint="send text, or image_url with a data URL")
        pictures = [read_base64(part.image_url.url, where) for part in self.content if part.image_url]
        text = "\n".join(part.text for part in self.content if part.type == "text")
        return Utterance(self.role, text, decode_pictures(pictures, number))


class StreamOptions(BaseModel):
    include_usage: bool = False


class CompletionRequest(BaseModel):
    """The fields of a request that have an effect: no tools, as agents call none, and no samplers, which agents set."""

    model: str
    messages: Annotated[list[OpenAIMessage], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    stop: str | list[str] | None = None
    seed: AnySeed = None


class OpenAIFormat:
    """A writer of responses as chunks of a stream, or as one object. See `ResponseFormat`."""

    media_type, end = "text/event-stream", b"data: [DONE]\n\n"

    def __init__(self, body: CompletionRequest) -> None:
        self._started = self._replied = False
        self._usage = bool(body.stream_options and body.stream_options.include_usage)
        self._head = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time()), "model": body.model}

    def write(self, update: Update) -> Iterator[bytes]:
        if not self._started:
            yield self._delta({"role": "assistant", "content": ""})
            self._started = True
        if reply := update.reply:
            if not self._replied:
                yield self._delta({"content": reply.text})
                self._replied = True
            if reply.last:
                yield self._status(f"Done in {reply.seconds:.1f} s", done=True)
                yield self._delta({}, reply.finish, **reply.extra)
                if self._usage:
                    yield self._chunk([], usage=_usage(reply), **reply.extra)
        if update.thought:
            yield self._delta({"reasoning_content": f"{update.thought}\n"})
        if update.status:
            yield self._status(update.status, done=False)
        if not (update.reply or update.thought or update.status):
            yield ALIVE

    def fail(self, error: MmergError) -> bytes:
        return _data(build_error(error))

    def whole(self, reply: Reply, thoughts: str) -> dict[str, object]:
        message = {"role": "assistant", "content": reply.text, "reasoning_content": thoughts}
        choice = {"index": 0, "message": message, "finish_reason": reply.finish, "logprobs": None}
        body = {"object": "chat.completion", "choices": [choice], "usage": _usage(reply)}
        return {**self._head, **body, **reply.extra}

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
        return {"object": "list", "data": [_model(name) for name in state.systems]}

    @router.get("/models/{name}")
    async def model(name: str) -> dict[str, object]:
        return _model(state.find_system(name).id)

    @router.post("/chat/completions", openapi_extra=describe_body(CompletionRequest))
    async def complete(request: Request) -> Response:
        body = await read_body(request, CompletionRequest)
        messages = [message.convert(number) for number, message in enumerate(body.messages, start=1)]
        updates = run_request(state, state.find_system(body.model), messages, body.stop, body.seed)
        return await respond(request, updates, OpenAIFormat(body), streams=bool(body.stream))

    return router


def build_error(error: MmergError) -> dict[str, object]:
    kind = "invalid_request_error" if get_status(error) < 500 else "server_error"
    return {"error": {"message": error_as_text(error), "type": kind, "param": error.where or None, "code": None}}


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "mmerg"}


def _usage(reply: Reply) -> dict[str, int]:
    prompt, completion = reply.prompt_tokens, reply.response_tokens
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _data(chunk: dict[str, object]) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()
