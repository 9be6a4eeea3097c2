"""Vectors from Ollama: despite a host that does not respond, and until Ctrl-C."""

import json
import os
import signal
import socket
import threading
import time

import numpy as np
import pytest

from mmerg.backends.protocol import Engine
from mmerg.memory.ollama import Ollama
from tests.ollama_server import EMBEDDING_MODEL


def test_a_real_server_and_a_host_that_does_not_respond(ollama_host: str) -> None:
    embedder = Ollama(EMBEDDING_MODEL, ["http://127.0.0.1:9", ollama_host])
    texts = ["The sea is calm.", "I am angry.", "The sea is calm."]
    vectors = embedder.embed(texts)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert float(vectors[0] @ vectors[2]) > 0.9999 > float(vectors[0] @ vectors[1])
    assert len(json.loads(embedder.identity())["digest"]) == 64


def test_ctrl_c_cancels_the_requests() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        embedder = Ollama("minilm", [f"http://127.0.0.1:{silent.getsockname()[1]}"])
        vars(embedder)["_engine"] = Engine(backend="ollama", version="0.24.0", model="minilm", digest="d")
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            embedder.embed(["x", "y", "z"])
        assert time.monotonic() - start < 10
