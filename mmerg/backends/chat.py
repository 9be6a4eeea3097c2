"""One call to /v1/chat/completions: what is sent in a server's dialect, and what is read from its answer.

Answers come in one piece, as some servers leave out log-probabilities of tokens whose text they hold back in a stream.
Judges no reply: a blank or cut one is returned with its finish, and the engine decides.

    reply = complete(host, request, "Qwen/Qwen2.5-VL-7B-Instruct", DIALECTS["vllm"])
"""

from __future__ import annotations

import base64
from typing import Annotated

from pydantic import BaseModel, Field

from mmerg.backends.dialects import Dialect
from mmerg.backends.http import Count, Http, room
from mmerg.backends.protocol import Finish, Image, Message, Reply, Request, TokenLogprob

_FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}


class _Said(BaseModel):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None  # vLLM's name for it


class _Logprobs(BaseModel):
    content: tuple[TokenLogprob, ...] | None = None


class _Choice(BaseModel):
    message: _Said
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Cached(BaseModel):
    cached_tokens: Count | None = None


class _Usage(BaseModel):
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    prompt_tokens_details: _Cached | None = None


class _Timings(BaseModel):
    """llama-server's own, in milliseconds."""

    prompt_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class Completion(BaseModel):
    """An answer, of which any part may be missing where it is an error."""

    choices: tuple[_Choice, ...] = ()
    usage: _Usage | None = None
    timings: _Timings | None = None
    error: object = None


def complete(host: Http, request: Request, model: str, dialect: Dialect, think: bool = False) -> Reply:
    """The reply to `request`. Raises CallError, and ConfigError for a sampler that the server cannot be given."""
    content, most = body(request, model, dialect, think), room(request.sampling.num_predict)
    with host.ask("/v1/chat/completions", content, model, room=most) as answer:
        raw = answer.body()
    told = host.parsed(Completion.model_validate_json, raw)
    if told.error is not None:
        raise host.error(200, raw, model)
    if not told.choices:
        raise host.odd(f"the answer holds no reply: {host.shown(raw)[:100]!r}")
    return _reply(told, request)


def body(request: Request, model: str, dialect: Dialect, think: bool = False) -> dict[str, object]:
    """The whole body of the call."""
    asked: dict[str, object] = {
        "model": model,
        "messages": [{"role": message.role, "content": _content(message)} for message in request.messages],
        "stream": False,
        **dialect.sampling(request.sampling),
        **dialect.fixed,
    }
    if dialect.thinking:
        asked["chat_template_kwargs"] = {"enable_thinking": think}
    if request.schema:
        asked |= dialect.schema(request.schema)
    if request.logprobs and dialect.logprobs:
        asked |= {"logprobs": True, "top_logprobs": max(request.alternatives, 1)}  # without a number some give none
    return asked


def _content(message: Message) -> str | list[object]:
    if not message.images:
        return message.text
    parts = [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in message.images]
    return [*parts, {"type": "text", "text": message.text}]


def _data_url(image: Image) -> str:
    kind = "png" if image.data.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image.data).decode()}"


def _reply(told: Completion, request: Request) -> Reply:
    choice, usage = told.choices[0], told.usage or _Usage()
    cached = usage.prompt_tokens_details
    logprobs = (choice.logprobs and choice.logprobs.content) or ()
    if not request.alternatives:  # one is told even so
        logprobs = tuple(entry.model_copy(update={"top_logprobs": ()}) for entry in logprobs)
    return Reply(
        text=choice.message.content or "",
        finish=_FINISHES.get(choice.finish_reason or "", Finish.ABORT),
        thinking=choice.message.reasoning_content or choice.message.reasoning or "",
        logprobs=logprobs if request.logprobs else (),
        prompt_tokens=usage.prompt_tokens,
        reused_tokens=cached.cached_tokens if cached else None,
        response_tokens=usage.completion_tokens,
        prompt_seconds=told.timings.prompt_ms / 1000 if told.timings else 0.0,
    )
