"""Calls of /v1/chat/completions: requests in a server's dialect, and completions read from the responses.

Responses are not streamed: in a stream, some servers omit the log-probabilities of tokens whose text they hold back.

    completion = complete(host, request, "Qwen/Qwen2.5-VL-7B-Instruct", DIALECTS["vllm"])
"""

import base64
from dataclasses import replace
from typing import Annotated, Any

import httpx
from pydantic import AliasChoices, AliasPath, BaseModel, Field

from mmerg.backends.adapter import post_chat
from mmerg.backends.dialects import Dialect
from mmerg.backends.http import Http
from mmerg.backends.likelihood import build_writing_request, read_written_text, take_end_tokens
from mmerg.backends.protocol import FINISHES, Completion, Count, Finish, Image, Message, Request, TokenLogprob
from mmerg.errors import CallError, CompletionError, Failure

Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _field_at(first: str, *path: str | int) -> Any:
    return Field(default=None, validation_alias=AliasPath(first, *path))


class _ChatResponse(BaseModel):
    """The parts of a response that mmerg reads. An error response may lack any of them."""

    error: object = None
    message: dict[str, object] | None = _field_at("choices", 0, "message")
    content: str | None = _field_at("choices", 0, "message", "content")
    reasoning_content: str | None = _field_at("choices", 0, "message", "reasoning_content")
    reasoning: str | None = _field_at("choices", 0, "message", "reasoning")  # vLLM's name for it
    finish_reason: str | None = _field_at("choices", 0, "finish_reason")
    logprobs: tuple[TokenLogprob, ...] | None = _field_at("choices", 0, "logprobs", "content")
    prompt_tokens: Count | None = _field_at("usage", "prompt_tokens")
    completion_tokens: Count | None = _field_at("usage", "completion_tokens")
    cached_tokens: Count | None = _field_at("usage", "prompt_tokens_details", "cached_tokens")
    prompt_ms: Milliseconds | None = _field_at("timings", "prompt_ms")  # from llama-server


def complete(host: Http, request: Request, model: str, dialect: Dialect, think: bool = False) -> Completion:
    """Returns the completion of `request`. Raises CallError, and ConfigError for a sampler that the server lacks."""
    if request.likelihood_of:
        if dialect.prompt_logprobs:
            return _score_text(host, request, model, dialect, think)
        completion = complete(host, build_writing_request(request), model, dialect, think)
        return read_written_text(request, completion)

    def read(response: httpx.Response) -> Completion:
        raw = response.read()
        parsed = host.parse(_ChatResponse.model_validate_json, raw)
        if parsed.error is not None:
            raise host.make_status_error(200, raw, model)
        if parsed.message is None:
            raise host.make_response_error(f"the response contains no completion: {host.mask_token(raw)[:100]!r}")
        logprobs = (parsed.logprobs or ()) if request.logprobs else ()
        if not request.alternatives:  # `build_body` always asks for at least one alternative
            logprobs = tuple(entry.model_copy(update={"top_logprobs": ()}) for entry in logprobs)
        return Completion(
            text=parsed.content or "",
            finish=FINISHES.get(parsed.finish_reason or "", Finish.ABORT),
            thinking=parsed.reasoning_content or parsed.reasoning or "",
            logprobs=logprobs,
            prompt_tokens=parsed.prompt_tokens or 0,
            reused_tokens=parsed.cached_tokens,
            response_tokens=parsed.completion_tokens or 0,
            prompt_seconds=(parsed.prompt_ms or 0.0) / 1000,
        )

    fields = build_body(request, model, dialect, think)
    return post_chat(host, "/v1/chat/completions", fields, read)


class _Logprob(BaseModel):
    logprob: float
    decoded_token: str


_PROMPT_COUNTS = (AliasPath("usage", "prompt_tokens"), AliasPath("meta_info", "prompt_tokens"))


class _Prompt(BaseModel):
    """The log-probabilities of the tokens of a prompt, whose first token has none. vllm: for each position the
    likeliest tokens by number, the prompt's first. sglang: the log-probability, number and text of each token."""

    vllm: list[dict[str, _Logprob] | None] | None = _field_at("prompt_logprobs")
    sglang: list[tuple[float | None, int, str | None]] | None = _field_at("meta_info", "input_token_logprobs")
    count: Annotated[Count, Field(validation_alias=AliasChoices(*_PROMPT_COUNTS))] = 0

    def tokens(self) -> list[TokenLogprob]:
        first_candidates = [next(iter(position.values())) for position in self.vllm or () if position]
        pairs = [(candidate.decoded_token, candidate.logprob) for candidate in first_candidates]
        pairs += [(text or "", logprob) for logprob, _, text in self.sglang or () if logprob is not None]
        return [TokenLogprob(token=text, logprob=logprob) for text, logprob in pairs]


class _Tokens(BaseModel):
    tokens: list[int]


def _score_text(host: Http, request: Request, model: str, dialect: Dialect, think: bool) -> Completion:
    """Returns the text of `likelihood_of` with the log-probabilities that its tokens have at the end of the prompt."""
    text = request.likelihood_of
    with_text = replace(
        request,
        messages=(*request.messages, Message("assistant", text)),
        sampling=replace(request.sampling, num_predict=1),
        likelihood_of="",
        logprobs=False,
    )
    body = build_body(with_text, model, dialect, think)
    body |= {"continue_final_message": True}
    path = "/v1/chat/completions"
    if dialect.prompt_logprobs == "vllm":
        body |= {"add_generation_prompt": False, "prompt_logprobs": 1}
    else:  # SGLang returns them only from an endpoint of its own, which takes tokens but no images
        if request.images:
            what = "SGLang gives no log-probabilities of a prompt with images"
            hint = "set frames.seen_by=none, or use another server"
            raise CallError(Failure.BAD_REQUEST, what, where=host.host, hint=hint)
        names = ("model", "messages", "continue_final_message", "chat_template_kwargs")
        with host.post("/tokenize", {name: body[name] for name in names}) as response:
            ids = host.parse(_Tokens.model_validate_json, response.read()).tokens
        start = max(0, len(ids) - len(text.encode(errors="replace")) - 1)
        body = {"input_ids": ids, "return_logprob": True, "logprob_start_len": start, "return_text_in_logprobs": True}
        body |= {"sampling_params": {"max_new_tokens": 1, "temperature": 0.0}}
        path = "/generate"

    def read(response: httpx.Response) -> Completion:
        raw = response.read()
        prompt = host.parse(_Prompt.model_validate_json, raw)
        tokens = take_end_tokens(prompt.tokens(), text)
        if not tokens:
            what = f"the server gives no log-probabilities of the end of the prompt: {host.mask_token(raw)[:100]!r}"
            hint = "run mmerg doctor, or update the server"
            raise CompletionError(Failure.SERVER_ERROR, what, where=host.host, hint=hint)
        return Completion(text=text, finish=Finish.STOP, logprobs=tokens, prompt_tokens=prompt.count)

    return post_chat(host, path, body, read)


def build_body(request: Request, model: str, dialect: Dialect, think: bool) -> dict[str, object]:
    fields: dict[str, object] = {
        "model": model,
        "messages": [{"role": message.role, "content": _content(message)} for message in request.messages],
        "stream": False,
        **dialect.format_sampling(request.sampling),
        **dialect.fixed,
    }
    if dialect.thinking:
        fields["chat_template_kwargs"] = {"enable_thinking": think}
    if request.schema:
        fields |= dialect.format_schema(request.schema)
    if request.logprobs:
        # Some servers return log-probabilities only with at least one alternative.
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
