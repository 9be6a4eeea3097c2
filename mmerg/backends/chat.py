"""Calls to /v1/chat/completions: requests in a server's dialect, and replies from its responses.

Nothing is streamed, as some servers omit log-probabilities in a stream for tokens whose text they withhold.

    reply = complete(host, request, "Qwen/Qwen2.5-VL-7B-Instruct", DIALECTS["vllm"])
"""

import base64
from dataclasses import replace
from typing import Annotated, Any

import httpx
from pydantic import AliasChoices, AliasPath, BaseModel, Field

from mmerg.backends.adapter import reply_to
from mmerg.backends.dialects import Dialect
from mmerg.backends.http import Http
from mmerg.backends.likelihood import as_written, at_end, writing
from mmerg.backends.protocol import Count, Finish, Image, Message, Reply, Request, TokenLogprob
from mmerg.errors import CallError, Failure, ReplyError

_FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}


def _at(first: str, *path: str | int) -> Any:
    return Field(default=None, validation_alias=AliasPath(first, *path))


class Completion(BaseModel):
    """The parts of a response that are used. An error response may lack any of them."""

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
    """The reply to `request`. Raises CallError, and ConfigError for a sampler that the server lacks."""
    if request.likelihood_of:
        if not dialect.prompt_logprobs:
            return as_written(request, complete(host, writing(request), model, dialect, think))
        return _read_prompt(host, request, model, dialect, think)

    def read(response: httpx.Response) -> Reply:
        raw = response.read()
        completion = host.parse(Completion.model_validate_json, raw)
        if completion.error is not None:
            raise host.error(200, raw, model)
        if completion.message is None:
            raise host.unexpected(f"the response contains no reply: {host.without_token(raw)[:100]!r}")
        logprobs = (request.logprobs and completion.logprobs) or ()
        if not request.alternatives:  # one alternative is always requested
            logprobs = tuple(entry.model_copy(update={"top_logprobs": ()}) for entry in logprobs)
        return Reply(
            text=completion.content or "",
            finish=_FINISHES.get(completion.finish_reason or "", Finish.ABORT),
            thinking=completion.reasoning_content or completion.reasoning or "",
            logprobs=logprobs,
            prompt_tokens=completion.prompt_tokens or 0,
            reused_tokens=completion.cached_tokens,
            response_tokens=completion.completion_tokens or 0,
            prompt_seconds=(completion.prompt_ms or 0.0) / 1000,
        )

    fields = request_body(request, model, dialect, think)
    return reply_to(host, "/v1/chat/completions", fields, request.sampling.num_predict, read)


class _Logprob(BaseModel):
    logprob: float
    decoded_token: str


COUNTS = (AliasPath("usage", "prompt_tokens"), AliasPath("meta_info", "prompt_tokens"))


class _Prompt(BaseModel):
    """Log-probabilities of a prompt. vLLM: a dict for each place, with the prompt's own token first. SGLang: the
    log-probability, number and text of each token. The first token of a prompt has none."""

    vllm: list[dict[str, _Logprob] | None] | None = _at("prompt_logprobs")
    sglang: list[tuple[float | None, int, str | None]] | None = _at("meta_info", "input_token_logprobs")
    count: Annotated[Count, Field(validation_alias=AliasChoices(*COUNTS))] = 0

    def tokens(self) -> list[TokenLogprob]:
        own = [next(iter(place.values())) for place in self.vllm or () if place]
        known = [(one.decoded_token, one.logprob) for one in own]
        known += [(text or "", logprob) for logprob, _, text in self.sglang or () if logprob is not None]
        return [TokenLogprob(token=token, logprob=logprob) for token, logprob in known]


class _Tokens(BaseModel):
    tokens: list[int]


def _read_prompt(host: Http, request: Request, model: str, dialect: Dialect, think: bool) -> Reply:
    """The text of `likelihood_of` with the log-probabilities of its tokens at the end of the prompt."""
    text = request.likelihood_of
    ended = replace(request, messages=(*request.messages, Message("assistant", text)), likelihood_of="", logprobs=False)
    room = request.sampling.num_predict
    body = request_body(replace(ended, sampling=replace(ended.sampling, num_predict=1)), model, dialect, think)
    body |= {"continue_final_message": True}
    path = "/v1/chat/completions"
    if dialect.prompt_logprobs == "vllm":
        body |= {"add_generation_prompt": False, "prompt_logprobs": 1}
    else:  # SGLang gives them only at its own endpoint, which takes tokens without images
        if request.images:
            what = "SGLang gives no log-probabilities of a prompt with images"
            raise CallError(
                Failure.BAD_REQUEST, what, where=host.host, hint="set frames.seen_by=none, or use another server"
            )
        named = {name: body[name] for name in ("model", "messages", "continue_final_message", "chat_template_kwargs")}
        with host.post("/tokenize", named) as response:
            ids = host.parse(_Tokens.model_validate_json, response.read()).tokens
        start = max(0, len(ids) - len(text.encode(errors="replace")) - 1)
        body = {"input_ids": ids, "return_logprob": True, "logprob_start_len": start, "return_text_in_logprobs": True}
        body |= {"sampling_params": {"max_new_tokens": 1, "temperature": 0.0}}
        path = "/generate"

    def read(response: httpx.Response) -> Reply:
        raw = response.read()
        prompt = host.parse(_Prompt.model_validate_json, raw)
        tokens = at_end(prompt.tokens(), text)
        if not tokens:
            what = f"the server gives no log-probabilities of the end of the prompt: {host.without_token(raw)[:100]!r}"
            hint = "run mmerg doctor, or update the server"
            raise ReplyError(Failure.SERVER_ERROR, what, where=host.host, hint=hint)
        return Reply(text=text, finish=Finish.STOP, logprobs=tokens, prompt_tokens=prompt.count)

    return reply_to(host, path, body, room, read)


def request_body(request: Request, model: str, dialect: Dialect, think: bool = False) -> dict[str, object]:
    """The JSON body of the call."""
    fields: dict[str, object] = {
        "model": model,
        "messages": [{"role": message.role, "content": _content(message)} for message in request.messages],
        "stream": False,
        **dialect.sampling(request.sampling),
        **dialect.fixed,
    }
    if dialect.thinking:
        fields["chat_template_kwargs"] = {"enable_thinking": think}
    if request.schema:
        fields |= dialect.schema(request.schema)
    if request.logprobs:
        # Some servers need a number of alternatives.
        fields |= {"logprobs": True, "top_logprobs": max(request.alternatives, 1)}
    return fields


def _content(message: Message) -> str | list[object]:
    if not message.images:
        return message.text
    parts = [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in message.images]
    return [*parts, {"type": "text", "text": message.text}]


def _data_url(image: Image) -> str:
    kind = "png" if image.data.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image.data).decode()}"
