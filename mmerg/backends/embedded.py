"""A backend without a separate server: llama.cpp in this process, for a GGUF file (with its projector for vision).

It is for laptops, tests and offline use; for a large model use Ollama. It needs Linux or macOS and
`pip install "mmerg[embedded]"`.

xllamacpp always starts an HTTP server. Here the server listens on a Unix socket in a private folder and requires a
random key. All calls go through it, so that deadlines, Ctrl-C and errors work as with other servers.

    backend = Embedded("models/SmolLM2-135M-Instruct.gguf", load={"num_ctx": 8192})
    completion = backend.complete(Request((Message("system", "Be brief."), Message("user", "Hello")), Sampling()))
"""

import json
import os
import secrets
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from mmerg.backends import chat
from mmerg.backends.adapter import check_load, complete_with_stops
from mmerg.backends.cancel import CancelToken
from mmerg.backends.dialects import LLAMA_SERVER
from mmerg.backends.http import Deadlines, Http
from mmerg.backends.protocol import Completion, Engine, Request
from mmerg.backends.server_errors import ServerKind
from mmerg.backends.thinking import may_think
from mmerg.errors import ConfigError
from mmerg.storage.files import compute_sha256, locate

# Part of the keys of stored completions. Increase it if `chat.py`, `_build_grammar` or LLAMA_SERVER sends another
# request, or reads another completion from the same response.
REVISION = 3

DEFAULTS = {
    "num_ctx": 4096,  # tokens of context for each slot
    "num_batch": 512,  # tokens per evaluation; a call can be stopped only between two evaluations
    "parallel": 1,  # slots; each evaluates a shared prefix itself, so on a CPU more are rarely faster
    "gpu_layers": -1,  # layers on the GPU if the installed build supports one; -1 is all
    "threads": 0,  # 0 is all cores that this process may use but one; the maximum is all of them
    "cache_ram": 512,  # MiB per slot for prefixes that left the slot, such as frames after an agent that sees none
}
WITHOUT_EFFECT = frozenset({"threads", "cache_ram"})  # options that do not change completions
DESCRIBE_SECONDS = 60.0
RUN_AGAIN = "run again; if it happens again, report it to llama.cpp"
LLAMA_CPP = ServerKind("llama.cpp", RUN_AGAIN, RUN_AGAIN, RUN_AGAIN, option="backend.adapter.")


class Embedded:
    """A `Backend` that loads the model at the first call. Raises ConfigError for unknown options, and at the first call
    if the model cannot be loaded.

    model: the path of a GGUF, or "package:NAME/FILE" for a file of an installed package. mmproj: the path of the
    projector, for vision. load: options that replace those of DEFAULTS. total: the deadline of a call in seconds, which
    includes the wait for a free slot. host: the name of this process in completions.
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
        self._load, self._total, self._host = {**DEFAULTS, **(load or {})}, total, host
        check_load(self._load, DEFAULTS, "the embedded backend")
        self._lock, self._closed = threading.Lock(), CancelToken()
        self._opened: tuple[LlamaServer, Engine] | None = None

    def describe(self) -> Engine:
        return self._open()[1]

    def complete(self, request: Request) -> Completion:
        """Returns the completion of `request`. It can have fewer log-probabilities than tokens, because llama.cpp gives
        one for a character of several tokens. Raises CallError."""
        server, engine = self._open()
        return complete_with_stops(
            lambda sent: chat.complete(server, sent, engine.model, EMBEDDED), request, "thinking" in engine.capabilities
        )

    def close(self) -> None:
        self._closed.cancel()
        with self._lock:
            opened, self._opened = self._opened, None
        if opened:
            opened[0].close()

    def _open(self) -> "tuple[LlamaServer, Engine]":
        with self._lock:
            self._closed.check()
            if self._opened is None:
                if not self._model:
                    what = "the backbone has no GGUF file for the embedded backend"
                    hint = "set backbone.gguf=/path/model.gguf, or use backbone=smollm2-135m"
                    raise ConfigError(what, where="backbone.gguf", hint=hint)
                files = [locate(file, "give the path of a GGUF file") for file in (self._model, self._mmproj) if file]
                server = LlamaServer(files, self._load, self._total, self._host)
                try:
                    self._opened = server, _describe_engine(server, files, self._load)
                except BaseException:
                    server.close()
                    raise
            return self._opened


class LlamaServer(Http):
    """A server in this process, with a model (and its projector) that xllamacpp loads. Raises ConfigError if xllamacpp
    is missing or cannot load the model."""

    def __init__(self, files: list[Path], options: Mapping[str, int], total: float, name: str) -> None:
        try:
            import xllamacpp
        except ImportError as error:
            hint = 'pip install "mmerg[embedded]"'
            raise ConfigError("the embedded backend needs xllamacpp", where=str(error), hint=hint) from error
        key = secrets.token_urlsafe(32)
        self._folder = tempfile.TemporaryDirectory(prefix="mmerg-")
        address = str(Path(self._folder.name) / "llama.sock")
        deadlines = Deadlines(total, total, DESCRIBE_SECONDS, total)
        super().__init__("http://localhost", LLAMA_CPP, deadlines, where=name, socket=address, token=key)
        params = xllamacpp.CommonParams()
        params.model.path, *projector = map(str, files)
        if projector:
            [params.mmproj.path] = projector
        params.hostnames = [address]  # a name ending in .sock makes it a Unix socket
        params.api_keys = [key]
        params.ui = False
        params.verbosity = -1
        params.n_ctx = options["num_ctx"] * options["parallel"]
        params.n_batch = params.n_ubatch = options["num_batch"]
        params.n_parallel = options["parallel"]
        params.n_gpu_layers = options["gpu_layers"]
        params.cache_ram_mib = options["cache_ram"] * options["parallel"]
        params.ctx_shift = False
        params.fit_params = False  # otherwise xllamacpp silently lowers options to fit the memory
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = choose_thread_count(options["threads"])

        def load() -> object:
            server = xllamacpp.Server(params)
            self.read(bytes, "/slots")  # returns when the server's loop runs
            return server

        # A server that is closed before its loop runs waits for it forever. Signals raise in the main thread alone, so
        # another thread loads the server.
        try:
            with ThreadPoolExecutor(1) as loading:
                self._loaded: object | None = loading.submit(load).result()
        except RuntimeError as error:
            self._folder.cleanup()
            hint = "check that the file is a complete GGUF that llama.cpp supports, and that TMPDIR is a short path"
            hint += " (for a socket); try a smaller num_ctx, which needs less memory"
            raise ConfigError(f"llama.cpp cannot load the model: {error}", where=str(files[0]), hint=hint) from error

    def close(self) -> None:
        """Cancels calls in flight, unloads the model and removes the socket."""
        super().close()
        self._loaded = None
        self._folder.cleanup()


def _describe_engine(server: LlamaServer, files: list[Path], options: Mapping[str, int]) -> Engine:
    model, *projector = files
    limit = server.read(json.loads, "/v1/models")["data"][0]["meta"]["n_ctx_train"]
    template = server.read(json.loads, "/props")["chat_template"]
    if options["num_ctx"] > limit:
        what = f"num_ctx {options['num_ctx']} is more than the model's {limit} tokens"
        raise ConfigError(what, where=str(model), hint=f"set num_ctx to {limit} or less")
    load: dict[str, int | str | bool | float] = {k: v for k, v in options.items() if k not in WITHOUT_EFFECT}
    load |= {"adapter": REVISION} | ({"mmproj": compute_sha256(projector[0])} if projector else {})
    return Engine(
        backend="embedded",
        version=version("xllamacpp"),
        model=model.name,
        digest=compute_sha256(model),
        capabilities=("completion", *["vision"] * bool(projector), *["thinking"] * may_think(template)),
        context_length=limit,
        load=load,
    )


def choose_thread_count(requested: int) -> int:
    """Returns the number of threads for a request; 0 means one fewer than there are cores. Threads wait for each other
    by spinning. With a thread on every core, any other work on the machine makes them several times slower."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(requested, cores) if requested > 0 else max(cores - 1, 1)


def _build_grammar(schema: str) -> dict[str, object]:
    """Builds an llguidance grammar for JSON on one line from a JSON schema. llama.cpp's own `response_format` allows
    endless fences and blank lines, and ignores ranges of floats."""
    layout = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    return {"grammar": f"%llguidance {{}}\nstart: %json {json.dumps({**json.loads(schema), 'x-guidance': layout})}"}


EMBEDDED = replace(LLAMA_SERVER, format_schema=_build_grammar)
