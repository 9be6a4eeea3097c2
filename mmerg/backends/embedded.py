"""A backend without a server: llama.cpp in this process, for one GGUF file (and its projector, if it has eyes).

For laptops, tests and offline use; a large model is better served by Ollama. The model's own chat template is used:
give a system message, or some templates (SmolLM2's) put in one of their own. Needs Linux or macOS and
`pip install "mmerg[embedded]"`. `embedded_server.py` does the loading and the talking.

    backend = Embedded("models/SmolLM2-135M-Instruct.gguf", load={"num_ctx": 8192})
    reply = backend.complete(Request((Message("system", "Be brief."), Message("user", "Hello")), Sampling()))
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mmerg.backends.embedded_server import AGAIN, NEUTRAL, LlamaServer, load_options
from mmerg.backends.protocol import Engine, Finish, Image, Message, Reply, Request, TokenLogprob
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.storage.files import locate, sha256_of

# Samplers that a Request does not name are switched off by name, as a GGUF may carry its own defaults for them.
PINNED: Mapping[str, object] = {
    "samplers": ["penalties", "top_k", "top_p", "min_p", "temperature"],
    "mirostat": 0,
    "dynatemp_range": 0.0,
    "typical_p": 1.0,
    "xtc_probability": 0.0,
    "dry_multiplier": 0.0,
    "cache_prompt": True,
    "stream": False,
    "chat_template_kwargs": {"enable_thinking": False},
}
# Part of the engine, and so of the keys of stored replies. Raise it with every change of what `_body`, `_grammar` or
# PINNED send for the same request, or of what `_reply` reads from the same answer: else replies from before the change
# go on being served.
REVISION = 1
_FINISH = {"stop": Finish.STOP, "length": Finish.LENGTH}


class Embedded:
    """Loads the model at the first call. Safe to call from several threads; `parallel` of them are answered at once.

    model: a GGUF's path, or "package:NAME/FILE" for one inside an installed package (which is not imported). mmproj:
    the projector's, which gives vision. load: see `embedded_server.DEFAULTS`. total: seconds that a call may take,
    waiting for a free slot included. host: how replies name this process. Raises ConfigError for wrong options, and
    once it is used for a model that cannot be loaded.
    """

    def __init__(
        self,
        model: str,
        mmproj: str = "",
        load: Mapping[str, int] | None = None,
        total: float = 600.0,
        host: str = "in process",
    ) -> None:
        self._model, self._mmproj = model, mmproj
        self._load, self._total, self._host = load_options(load or {}), total, host
        self._lock = threading.Lock()
        self._opened: tuple[LlamaServer, Engine] | None = None
        self._closed = False

    def describe(self) -> Engine:
        return self._open()[1]

    def complete(self, request: Request) -> Reply:
        """Raises CallError: context_overflow, image_rejected, bad_request (a schema that llama.cpp cannot hold to),
        timeout, interrupted (by `close`) and so on. Of a character that is made of several tokens, llama.cpp gives one
        log-probability, so `logprobs` can be shorter than `response_tokens`."""
        server, engine = self._open()
        if request.images and not engine.vision:
            hint = "name the model's projector as mmproj, or use frames described as text"
            raise CallError(Failure.IMAGE_REJECTED, "the model has no eyes", where=engine.model, hint=hint)
        start = time.monotonic()
        status, answer = server.call("POST", "/v1/chat/completions", _body(request))
        if status != 200:
            raise _failure(answer, engine.model)
        return _reply(request, answer, engine.model, time.monotonic() - start, self._host)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            opened, self._opened = self._opened, None
        if opened:
            opened[0].close()

    def _open(self) -> tuple[LlamaServer, Engine]:
        with self._lock:
            if self._closed:
                raise CallError(Failure.INTERRUPTED, "the embedded backend is closed", where=self._model)
            if self._opened is None:
                if not self._model:
                    what = "the backbone names no GGUF file for the embedded backend"
                    hint = "backbone.gguf=/path/model.gguf, or backbone=smollm2-135m"
                    raise ConfigError(what, where="backbone.gguf", hint=hint)
                files = [locate(file, "give the path of a GGUF file") for file in (self._model, self._mmproj) if file]
                server = LlamaServer(files, self._load, self._total)
                try:
                    self._opened = server, _engine(server, files, self._load)
                except BaseException:
                    server.close()
                    raise
            return self._opened


def _engine(server: LlamaServer, files: list[Path], options: Mapping[str, int]) -> Engine:
    model, *projector = files
    _, answer = server.call("GET", "/v1/models")
    limit = int(answer["data"][0]["meta"]["n_ctx_train"])
    if options["num_ctx"] > limit:
        what = f"num_ctx {options['num_ctx']} is more than the model's {limit} tokens"
        raise ConfigError(what, where=str(model), hint=f"set num_ctx to {limit} or less")
    load: dict[str, int | str | bool | float] = {k: v for k, v in options.items() if k not in NEUTRAL}
    load |= {"adapter": REVISION} | ({"mmproj": sha256_of(projector[0])} if projector else {})
    return Engine(
        backend="embedded",
        version=version("xllamacpp"),
        model=model.name,
        digest=sha256_of(model),
        capabilities=("completion", "vision") if projector else ("completion",),
        context_length=limit,
        load=load,
    )


def _body(request: Request) -> dict[str, object]:
    samplers = dict(vars(request.sampling))  # their names are llama.cpp's, but for one
    body: dict[str, object] = {
        "messages": [{"role": message.role, "content": _content(message)} for message in request.messages],
        "max_tokens": samplers.pop("num_predict"),
        **samplers,
        **PINNED,
    }
    if request.schema:
        body["grammar"] = _grammar(request.schema)
    if request.logprobs:
        body |= {"logprobs": True, "top_logprobs": max(request.alternatives, 1)}
    return body


def _grammar(schema: str) -> str:
    """The JSON schema as an llguidance grammar, on one line of JSON.

    llama.cpp's own `response_format` lets a model wrap its JSON in a fence that it then hides, lets blank lines go on
    without end, and ignores ranges of floats; this keeps property order, is as fast, and none of these.
    """
    layout = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    return f"%llguidance {{}}\nstart: %json {json.dumps({**json.loads(schema), 'x-guidance': layout})}"


def _content(message: Message) -> str | list[object]:
    if not message.images:
        return message.text
    parts = [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in message.images]
    return [*parts, {"type": "text", "text": message.text}]


def _data_url(image: Image) -> str:
    kind = "png" if image.data.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image.data).decode()}"


def _reply(request: Request, answer: Mapping[str, Any], model: str, seconds: float, host: str) -> Reply:
    choice, usage, timings = answer["choices"][0], answer["usage"], answer["timings"]
    text = choice["message"].get("content") or ""
    finish = _FINISH.get(choice["finish_reason"], Finish.ABORT)
    if request.schema and finish is Finish.STOP:
        try:
            json.loads(text)
        except ValueError as error:  # a schema that llguidance cannot hold to is dropped without a word
            hint = "use types, enum, properties, items, minItems, maxItems, minLength, maxLength, minimum, maximum only"
            raise CallError(Failure.BAD_REQUEST, "llama.cpp ignored the schema", where=model, hint=hint) from error
    logprobs = (choice.get("logprobs") or {}).get("content") or []
    return Reply(
        text=text,
        finish=finish,
        thinking=choice["message"].get("reasoning_content") or "",
        logprobs=tuple(_token(entry, request.alternatives) for entry in logprobs),
        prompt_tokens=usage["prompt_tokens"],
        reused_tokens=timings["cache_n"],
        response_tokens=usage["completion_tokens"],
        prompt_seconds=timings["prompt_ms"] / 1000,
        seconds=seconds,
        host=host,
    )


def _token(entry: Mapping[str, Any], alternatives: int) -> TokenLogprob:
    top = entry["top_logprobs"] if alternatives else ()  # one is told even so
    return TokenLogprob.model_validate({**entry, "top_logprobs": top})


def _failure(answer: Mapping[str, Any], model: str) -> CallError:
    error = answer.get("error") or {}
    kind, said = error.get("type", ""), error.get("message", str(answer))
    failure, hint = Failure.SERVER_ERROR, AGAIN
    if kind == "exceed_context_size_error":
        failure, hint = Failure.CONTEXT_OVERFLOW, "raise num_ctx, or give fewer turns or frames"
    elif "image" in said.lower() or "media" in said.lower():
        failure, hint = Failure.IMAGE_REJECTED, "send JPEG or PNG that other programs can open"
    elif kind == "invalid_request_error":
        failure, hint = Failure.BAD_REQUEST, "the request itself is refused; sending it again will not help"
    elif kind == "unavailable_error":
        failure, hint = Failure.BUSY, "wait a little"
    return CallError(failure, f"llama.cpp answered: {said}", where=model, hint=hint)
