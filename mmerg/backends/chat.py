"""One call to /v1/chat/completions: what is sent in a server's dialect, and what is read from its answer.

Answers come in one piece, as some servers leave out log-probabilities of tokens whose text they hold back in a stream.
Judges no reply: a blank or cut one is returned with its finish, and the engine decides.

    reply = complete(host, request, "Qwen/Qwen2.5-VL-7B-Instruct", DIALECTS["vllm"])
"""

import base64
from typing import Annotated, Any

from pydantic import AliasPath, BaseModel, Field

from mmerg.backends.adapter import reply_to
from mmerg.backends.dialects import Dialect
from mmerg.backends.http import Answer, Count, Http
from mmerg.backends.protocol import Finish, Image, Message, Reply, Request, TokenLogprob

_FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}


def _at(first: str, *path: str | int) -> Any:
    return Field(default=None, validation_alias=AliasPath(first, *path))


class Completion(BaseModel):
    """What is read of an answer, each from its place in it; any part may be missing where it is an error."""

    error: object = None
    message: dict[str, object] | None = _at("choices", 0, "message")
    content: str | None = _at("choices", 0, "message", "content")
    reasoning_content: str | None = _at("choices", 0, "message", "reasoning_content")
    reasoning: str | None = _at("choices", 0, "message", "reasoning")  # vLLM's name for it
    finish_reason: str | None = _at("choices", 0, "finish_reason")
    logprobs: tuple[TokenLogprob, ...] | None = _at("choices", 0, "logprobs", "content")
    prompt_tokens: Count | None = _at("usage", "prompt_tokens")
    completion_tokens: Count | None = _at("usage", "completion_tokens")
    cached_tokens: Count | None = _at("usage", "prompt_tokens_details", "cached_tokens")
    prompt_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = _at("timings", "prompt_ms")  # llama-server's


def complete(host: Http, request: Request, model: str, dialect: Dialect, think: bool = False) -> Reply:
    """The reply to `request`. Raises CallError, and ConfigError for a sampler that the server cannot be given."""

    def read(answer: Answer) -> Reply:
        raw = answer.body()
        said = host.parse(Completion.model_validate_json, raw)
        if said.error is not None:
            raise host.error(200, raw, model)
        if said.message is None:
            raise host.unexpected(f"the answer holds no reply: {host.without_token(raw)[:100]!r}")
        logprobs = (request.logprobs and said.logprobs) or ()
        if not request.alternatives:  # the server gives one even so
            logprobs = tuple(entry.model_copy(update={"top_logprobs": ()}) for entry in logprobs)
        return Reply(
            text=said.content or "",
            finish=_FINISHES.get(said.finish_reason or "", Finish.ABORT),
            thinking=said.reasoning_content or said.reasoning or "",
            logprobs=logprobs,
            prompt_tokens=said.prompt_tokens or 0,
            reused_tokens=said.cached_tokens,
            response_tokens=said.completion_tokens or 0,
            prompt_seconds=(said.prompt_ms or 0.0) / 1000,
        )

    asked = body(request, model, dialect, think)
    return reply_to(host, "/v1/chat/completions", asked, request.sampling.num_predict, read)


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
