"""A backend without a server: llama.cpp in this process, for one GGUF file (and its projector, if it has eyes).

For laptops, tests and offline use; a large model is better served by Ollama. The model's own chat template is used:
give a system message, or some templates (SmolLM2's) put in one of their own. Needs Linux or macOS and
`pip install "mmerg[embedded]"`. `embedded_server.py` does the loading and the talking.

    backend = Embedded("models/SmolLM2-135M-Instruct.gguf", load={"num_ctx": 8192})
    reply = backend.complete(Request((Message("system", "Be brief."), Message("user", "Hello")), Sampling()))
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from mmerg.backends import chat
from mmerg.backends.dialects import LLAMA_SERVER
from mmerg.backends.embedded_server import NEUTRAL, LlamaServer, load_options
from mmerg.backends.protocol import Engine, Finish, Reply, Request
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.storage.files import locate, sha256_of

# Part of the engine, and so of the keys of stored replies. Raise it with every change of what `chat.py`, `_grammar` or
# LLAMA_SERVER send for the same request, or of what is read from the same answer: else replies from before the change
# go on being served.
REVISION = 1


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
        reply = chat.complete(server, request, engine.model, EMBEDDED)
        if request.schema and reply.finish is Finish.STOP:
            try:
                json.loads(reply.text)
            except ValueError as error:  # a schema that llguidance cannot hold to is dropped without a word
                hint = "use types, enum, properties, items, minItems, maxItems, minLength, maxLength, minimum and "
                what = "llama.cpp ignored the schema"
                raise CallError(Failure.BAD_REQUEST, what, where=engine.model, hint=f"{hint}maximum only") from error
        return reply

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
                server = LlamaServer(files, self._load, self._total, self._host)
                try:
                    self._opened = server, _engine(server, files, self._load)
                except BaseException:
                    server.close()
                    raise
            return self._opened


def _engine(server: LlamaServer, files: list[Path], options: Mapping[str, int]) -> Engine:
    model, *projector = files
    answer = server.told(TypeAdapter(dict[str, Any]).validate_json, "/v1/models")
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


def _grammar(schema: str) -> dict[str, object]:
    """The JSON schema as an llguidance grammar, on one line of JSON.

    llama.cpp's own `response_format` lets a model wrap its JSON in a fence that it then hides, lets blank lines go on
    without end, and ignores ranges of floats; this keeps property order, is as fast, and none of these.
    """
    layout = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    return {"grammar": f"%llguidance {{}}\nstart: %json {json.dumps({**json.loads(schema), 'x-guidance': layout})}"}


EMBEDDED = replace(LLAMA_SERVER, schema=_grammar)
