"""Vectors from Ollama: from several hosts, despite a failing one, and from a real server."""

import json
import threading
from _thread import interrupt_main
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from mmerg.backends.ollama_host import OllamaHost
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.memory.ollama import Ollama
from tests.ollama_server import EMBEDDING_MODEL


class Hosts:
    """Scripted hosts by name, with the digest of the model on each. Those in `dead` do not respond."""

    def __init__(self, digests: dict[str, str], dead: Sequence[str] = ()) -> None:
        self.digests, self.dead = digests, dead
        self.requests: list[tuple[str, tuple[str, ...]]] = []
        self.closed = threading.Event()

    def embedder(self) -> Ollama:
        return Ollama("minilm", list(self.digests), lambda name: ScriptedServer(self, name), wait=0.0)


@dataclass
class ScriptedServer:
    """A server on one of the hosts."""

    hosts: Hosts
    name: str

    def identify(self, model: str) -> tuple[str, str]:
        if self.name in self.hosts.dead:
            raise CallError(Failure.UNREACHABLE, f"nothing answers at {self.name}")
        return "0.24.0", self.hosts.digests[self.name]

    def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        self.hosts.requests.append((self.name, tuple(texts)))
        return [[float(len(text)), 1.0] for text in texts]

    def close(self) -> None:
        self.hosts.closed.set()


def test_texts_are_sent_alone_and_to_all_hosts_at_once() -> None:
    hosts = Hosts({"a": "d", "b": "d"})
    barrier = threading.Barrier(2)

    class Together(ScriptedServer):
        def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
            barrier.wait(60)
            return super().embed(model, texts)

    vectors = Ollama("minilm", ["a", "b"], lambda name: Together(hosts, name)).embed(["x", "yy", "zzz", "x"])
    assert sorted(texts for _, texts in hosts.requests) == [("x",), ("x",), ("yy",), ("zzz",)]
    assert sorted(host for host, _ in hosts.requests) == ["a", "a", "b", "b"]
    assert np.array_equal(vectors[0], vectors[3])
    assert np.allclose(vectors[1], np.array([2, 1]) / np.sqrt(5))


def test_a_failing_host_is_skipped() -> None:
    hosts = Hosts({"a": "d", "b": "d"}, dead=["a"])
    assert hosts.embedder().embed(["x", "yy"]).shape == (2, 2)
    assert {host for host, _ in hosts.requests} == {"b"}
    assert json.loads(hosts.embedder().identity())["digest"] == "d"


class Silent(ScriptedServer):
    """Does not respond until it is closed, as Ctrl-C does."""

    def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        self.hosts.requests.append((self.name, tuple(texts)))
        if texts == ["interrupt"]:
            interrupt_main()
        closed = self.hosts.closed.wait(60)
        raise CallError(Failure.INTERRUPTED if closed else Failure.TIMEOUT, "the host is closed")


def test_ctrl_c_cancels_the_requests() -> None:
    hosts = Hosts({"a": "d"})
    embedder = Ollama("minilm", ["a"], lambda name: Silent(hosts, name))
    with pytest.raises(KeyboardInterrupt):
        embedder.embed(["interrupt", "y", "z"])
    assert hosts.closed.is_set()
    assert hosts.requests == [("a", ("interrupt",))]


def test_an_empty_list_of_hosts_is_refused() -> None:
    with pytest.raises(ConfigError, match="hosts is empty"):
        Hosts({}).embedder()


def test_a_real_server(ollama_host: str) -> None:
    embedder = Ollama(EMBEDDING_MODEL, [ollama_host], OllamaHost)
    texts = ["The sea is calm.", "I am angry.", "The sea is calm."]
    vectors = embedder.embed(texts)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert float(vectors[0] @ vectors[2]) > 0.9999 > float(vectors[0] @ vectors[1])
    assert len(json.loads(embedder.identity())["digest"]) == 64
