"""llama.cpp inside this process: loads a GGUF through xllamacpp and talks to it over a private Unix socket.

xllamacpp always opens an HTTP door, by default a loopback port that any page in a browser may knock at. Here it is a
socket file in a folder that only this user may enter, with a random key. Calls go through that door, as closing a
connection stops its call: so deadlines and Ctrl-C work, and errors have one form.

    server = LlamaServer([Path("model.gguf")], load_options({"num_ctx": 4096}), total=60.0, name="in process")
    reply = complete(server, request, "model.gguf", EMBEDDED)
"""

import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from mmerg.backends.connection import Deadlines
from mmerg.backends.http import Http
from mmerg.backends.load import check_load
from mmerg.backends.server_errors import Server
from mmerg.errors import ConfigError, Failure

DEFAULTS = {
    "num_ctx": 4096,  # tokens of context for each slot
    "num_batch": 512,  # tokens evaluated at once; a call can be stopped only in between
    "parallel": 1,  # slots; each computes a shared prefix anew, so more rarely pay on a CPU
    "gpu_layers": -1,  # layers on the GPU where the installed build has one; -1 is all
    "threads": 0,  # 0 is all cores that this process may use but one; more than it may use are never taken
    "cache_ram": 512,  # MiB a slot for prefixes that left it, as frames do while an agent sees words alone
}
LEAST = dict.fromkeys(DEFAULTS, 1) | {"gpu_layers": -1, "threads": 0, "cache_ram": 0}
NEUTRAL = frozenset({"threads", "cache_ram"})  # of these, replies do not depend
DESCRIBE_SECONDS = 60.0
AGAIN = "run again; if it stays, report it to llama.cpp"
LLAMA_CPP = Server("llama.cpp", AGAIN, AGAIN, AGAIN, hints={Failure.SERVER_ERROR: AGAIN}, option="backend.adapter.")


class LlamaServer(Http):
    """A model (and its projector) whose calls may take `total` seconds. name: what errors call it. Raises ConfigError
    where xllamacpp or the system's Unix sockets are missing, or the model does not load."""

    def __init__(self, files: list[Path], options: Mapping[str, int], total: float, name: str) -> None:
        try:
            import xllamacpp
        except ImportError as error:
            hint = 'pip install "mmerg[embedded]"'
            raise ConfigError("the embedded backend needs xllamacpp", where=str(error), hint=hint) from error
        if not hasattr(socket, "AF_UNIX"):
            hint = "use backend=ollama here, or run mmerg on Linux, macOS or in WSL"
            raise ConfigError("the embedded backend needs Unix sockets", where=f"Python on {sys.platform}", hint=hint)
        key = secrets.token_urlsafe(32)
        self._folder = tempfile.TemporaryDirectory(prefix="mmerg-")
        address = str(Path(self._folder.name) / "llama.sock")
        deadlines = Deadlines(total, total, DESCRIBE_SECONDS, total)
        super().__init__("http://localhost", LLAMA_CPP, deadlines, where=name, uds=address, token=key)
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
        params.fit_params = False  # never lower the options silently to fit the memory
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = thread_count(options["threads"])
        try:
            self._model: object = xllamacpp.Server(params)
        except RuntimeError as error:
            self._folder.cleanup()
            hint = "check that the file is a whole GGUF of a kind that llama.cpp knows, that a smaller num_ctx fits"
            hint += " the memory, and that TMPDIR is a short path (a socket is made there)"
            raise ConfigError(f"llama.cpp cannot load the model: {error}", where=str(files[0]), hint=hint) from error
        # Its loop answers /slots: a server that is closed before its loop runs waits for it without end.
        with self.ask("/slots", brief=True) as answer:
            answer.body()

    def close(self) -> None:
        """Stops the calls in flight, unloads the model and removes the socket."""
        super().close()
        self._model = None
        self._folder.cleanup()


def load_options(load: Mapping[str, int]) -> dict[str, int]:
    """`load` over the defaults. Raises ConfigError on an unknown name, and on what is no number or too small."""
    check_load(merged := {**DEFAULTS, **load}, LEAST, "the embedded backend")
    return merged


def thread_count(asked: int) -> int:
    """How many threads compute. llama.cpp's threads wait for each other in a spin: with a thread on every core, any
    other work on the machine (decoding video, say) makes it several times slower than with one thread fewer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(asked, cores) if asked > 0 else max(cores - 1, 1)
