"""llama.cpp inside this process: loads a GGUF through xllamacpp and talks to it over a private Unix socket.

xllamacpp's Server always opens an HTTP door, by default a loopback port that any page in a browser may knock at. Here
it is a socket file in a folder that only this user may enter, with a random key, and no port is opened. Calls go
through that door and not through the object's own methods: closing a connection stops its call, so deadlines and
Ctrl-C work, and errors have one form. Knows nothing of messages or replies.

    server = LlamaServer(Path("model.gguf"), mmproj=None, options=load_options({"num_ctx": 4096}))
    status, answer = server.call("POST", "/v1/chat/completions", body, seconds=60.0)
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import socket
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mmerg.errors import CallError, ConfigError, Failure

INSTALL = 'pip install "mmerg[embedded]"'
DEFAULTS: Mapping[str, int] = MappingProxyType(
    {
        "num_ctx": 4096,  # tokens of context for each slot
        "num_batch": 512,  # tokens evaluated at once; a call can be stopped only in between
        "parallel": 1,  # slots; each computes a shared prefix anew, so more rarely pay on a CPU
        "gpu_layers": -1,  # layers on the GPU where the installed build has one; -1 is all
        "threads": 0,  # 0 is all cores that this process may use but one; more than it may use are never taken
        "cache_ram": 512,  # MiB for prefixes that left their slot
    }
)
AT_LEAST = MappingProxyType(
    {"num_ctx": 1, "num_batch": 1, "parallel": 1, "gpu_layers": -1, "threads": 0, "cache_ram": 0}
)
NEUTRAL = frozenset({"threads", "cache_ram"})  # of these, replies do not depend


def load_options(load: Mapping[str, int]) -> dict[str, int]:
    """`load` over the defaults. Raises ConfigError on an unknown name, and on what is no number or too small."""
    if unknown := sorted(set(load) - set(DEFAULTS)):
        hint = f"known are {', '.join(DEFAULTS)}"
        raise ConfigError(f"unknown load option {', '.join(unknown)} for the embedded backend", hint=hint)
    for name, value in load.items():
        if type(value) is not int or value < AT_LEAST[name]:  # a bool is an int, too
            what = f"{name} is {value!r}, not a whole number of at least {AT_LEAST[name]}"
            hint = f"set it to a number; the default is {DEFAULTS[name]}"
            raise ConfigError(what, where=f"{name} of the embedded backend", hint=hint)
    return {**DEFAULTS, **load}


def thread_count(asked: int) -> int:
    """How many threads compute. llama.cpp's threads wait for each other in a spin: with a thread on every core, any
    other work on the machine (decoding video, say) makes it several times slower than with one thread fewer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(asked, cores) if asked > 0 else max(cores - 1, 1)


class LlamaServer:
    """A loaded model. Raises ConfigError where xllamacpp or the system's Unix sockets are missing, or the model does
    not load."""

    def __init__(self, model: Path, mmproj: Path | None, options: Mapping[str, int]) -> None:
        try:
            import xllamacpp
        except ImportError as error:
            raise ConfigError("the embedded backend needs xllamacpp", where=str(error), hint=INSTALL) from error
        if not hasattr(socket, "AF_UNIX"):
            hint = "use backend=ollama here, or run mmerg on Linux, macOS or in WSL"
            raise ConfigError("the embedded backend needs Unix sockets", where=f"Python on {sys.platform}", hint=hint)
        self._key = secrets.token_urlsafe(32)
        self._folder = tempfile.TemporaryDirectory(prefix="mmerg-")
        self._address = str(Path(self._folder.name) / "llama.sock")
        self._lock = threading.Lock()
        self._calls: set[socket.socket] = set()
        self._closed = False
        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        if mmproj:
            params.mmproj.path = str(mmproj)
        params.hostnames = [self._address]  # a name ending in .sock makes it a Unix socket
        params.api_keys = [self._key]
        params.ui = False
        params.verbosity = -1
        params.n_ctx = options["num_ctx"] * options["parallel"]
        params.n_batch = params.n_ubatch = options["num_batch"]
        params.n_parallel = options["parallel"]
        params.n_gpu_layers = options["gpu_layers"]
        params.cache_ram_mib = options["cache_ram"]
        params.ctx_shift = False
        params.fit_params = False  # never lower the options silently to fit the memory
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = thread_count(options["threads"])
        try:
            self._server: Any = xllamacpp.Server(params)
        except RuntimeError as error:
            self._folder.cleanup()
            hint = "check that the file is a whole GGUF of a kind that llama.cpp knows, that a smaller num_ctx fits"
            raise ConfigError(
                f"llama.cpp cannot load the model: {error}",
                where=str(model),
                hint=f"{hint} the memory, and that TMPDIR is a short path (a socket is made there)",
            ) from error

    def call(self, method: str, path: str, body: object = None, *, seconds: float) -> tuple[int, dict[str, Any]]:
        """Status and JSON object of one HTTP call that may take `seconds`.

        Raises CallError: timeout, interrupted (by `close`), or runner_crash where the connection breaks.
        """
        door = socket.socket(socket.AF_UNIX)
        door.settimeout(seconds)
        connection = http.client.HTTPConnection("localhost")
        connection.sock = door
        with self._lock:
            if self._closed:
                door.close()
                raise _interrupted()
            self._calls.add(door)
        try:
            door.connect(self._address)
            headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
            with connection.getresponse() as response:
                answer = json.loads(response.read())
                return response.status, answer
        except TimeoutError as error:
            what = f"no reply after {seconds:g} seconds"
            hint = "raise the deadline, lower num_predict, or use a smaller model"
            raise CallError(Failure.TIMEOUT, what, where="embedded", hint=hint) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            if self._closed:
                raise _interrupted() from error
            raise CallError(Failure.RUNNER_CRASH, f"llama.cpp broke off: {error!r}", where="embedded") from error
        finally:
            with self._lock:
                self._calls.discard(door)
            connection.close()
            door.close()

    def close(self) -> None:
        """Stops the calls in flight, unloads the model and removes the socket."""
        with self._lock:
            self._closed = True
            for door in self._calls:
                with suppress(OSError):
                    door.shutdown(socket.SHUT_RDWR)
        self._server = None
        self._folder.cleanup()


def _interrupted() -> CallError:
    return CallError(Failure.INTERRUPTED, "the embedded backend is closed", hint="run again to take up from here")
