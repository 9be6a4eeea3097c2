"""Vectors from Ollama: over hosts, past one that fails, and of a real server."""

import json
import socket
import threading
import time
from _thread import interrupt_main
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from mmerg.backends.ollama_host import OllamaHost
from mmerg.errors import CallError, ConfigError, Failure, RunError
from mmerg.memory.ollama import Ollama
from tests.ollama_server import EMBEDDING_MODEL


class Hosts:
    """Hosts by name: what each says that it is, and whether it answers."""

    def __init__(self, digests: dict[str, str], dead: Sequence[str] = ()) -> None:
        self.digests, self.dead = digests, dead
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.tried: list[str] = []
        self.failing: list[Failure] = []
        self.looks, self.down_until = 0, 0
        self.closed = threading.Event()

    def embedder(self, patience: float = 600.0) -> Ollama:
        return Ollama("minilm", list(self.digests), lambda name: One(self, name), wait=0.0, patience=patience)

    def back(self) -> None:
        """All are, once they were looked at often enough."""
        if self.down_until and self.looks >= self.down_until:
            self.dead = ()

    def alive(self, host: str) -> None:
        self.tried.append(host)
        if host in self.dead:
            raise CallError(Failure.UNREACHABLE, f"nothing answers at {host}")


@dataclass
class One:
    """One of them."""

    hosts: Hosts
    name: str

    def serves(self, model: str) -> tuple[str, str]:
        self.hosts.looks += 1
        self.hosts.back()
        self.hosts.alive(self.name)
        return "0.24.0", self.hosts.digests[self.name]

    def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        self.hosts.alive(self.name)
        if self.hosts.failing:
            raise CallError(self.hosts.failing.pop(), "it failed once")
        self.hosts.asked.append((self.name, tuple(texts)))
        return [[float(len(text)), 1.0] for text in texts]

    def close(self) -> None:
        self.hosts.closed.set()


def test_texts_go_alone_and_to_all_hosts_at_once() -> None:
    hosts = Hosts({"a": "d", "b": "d"})
    both = threading.Barrier(2)

    class Together(One):
        def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
            both.wait(60)
            return super().embed(model, texts)

    vectors = Ollama("minilm", ["a", "b"], lambda name: Together(hosts, name)).embed(["x", "yy", "zzz", "x"])
    assert sorted(texts for _, texts in hosts.asked) == [("x",), ("x",), ("yy",), ("zzz",)]
    assert sorted(host for host, _ in hosts.asked) == ["a", "a", "b", "b"]
    assert np.array_equal(vectors[0], vectors[3])
    assert np.allclose(vectors[1], np.array([2, 1]) / np.sqrt(5))


def test_a_host_that_fails_is_passed_by() -> None:
    hosts = Hosts({"a": "d", "b": "d"}, dead=["a"])
    assert hosts.embedder().embed(["x", "yy"]).shape == (2, 2)
    assert {host for host, _ in hosts.asked} == {"b"}
    assert json.loads(hosts.embedder().identity())["digest"] == "d"


def test_no_vector_is_had_from_a_host_that_came_back_with_another_model() -> None:
    hosts = Hosts({"a": "d", "b": "other"}, dead=["b"])
    embedder = hosts.embedder(patience=0.0)
    embedder.identity()
    hosts.dead = ["a"]
    with pytest.raises(RunError) as caught:
        embedder.embed(["x"])
    assert "nothing answers at a" in caught.value.where
    assert "b: the host serves another engine: model digest d → other" in caught.value.where
    assert hosts.asked == []


def test_an_outage_is_waited_out() -> None:
    hosts = Hosts({"a": "d", "b": "d"})
    embedder = hosts.embedder()
    embedder.identity()
    hosts.dead, hosts.down_until = ["a", "b"], 20
    assert embedder.embed(["x", "yy"]).shape == (2, 2)
    assert hosts.looks >= 20


class Silent(One):
    """Says nothing to a text until it is closed, which Ctrl-C is to do."""

    def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        self.hosts.asked.append((self.name, tuple(texts)))
        if texts == ["interrupt"]:
            interrupt_main()
        closed = self.hosts.closed.wait(60)
        raise CallError(Failure.INTERRUPTED if closed else Failure.TIMEOUT, "the host is closed")


def test_closing_breaks_off_what_hosts_are_asked() -> None:
    hosts = Hosts({"a": "d"})
    embedder = Ollama("minilm", ["a"], lambda name: Silent(hosts, name))
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(embedder.embed, ["x"])
        while not hosts.asked:
            time.sleep(0.001)
        embedder.close()
        error = asked.exception()
    assert isinstance(error, CallError)
    assert error.failure is Failure.INTERRUPTED


def test_ctrl_c_breaks_off_a_build() -> None:
    hosts = Hosts({"a": "d"})
    embedder = Ollama("minilm", ["a"], lambda name: Silent(hosts, name))
    with pytest.raises(KeyboardInterrupt):
        embedder.embed(["interrupt", "y", "z"])
    assert hosts.closed.is_set()
    assert hosts.asked == [("a", ("interrupt",))]


def test_no_host_is_named() -> None:
    with pytest.raises(ConfigError, match="hosts is empty"):
        Hosts({}).embedder()


def test_a_real_server(ollama_host: str) -> None:
    embedder = Ollama(EMBEDDING_MODEL, [ollama_host], OllamaHost)
    texts = ["The sea is calm.", "I am angry.", "The sea is calm."]
    vectors = embedder.embed(texts)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert float(vectors[0] @ vectors[2]) > 0.9999 > float(vectors[0] @ vectors[1])
    assert len(json.loads(embedder.identity())["digest"]) == 64


def test_the_hint_for_a_missing_server_names_the_setting() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(CallError) as caught:
            Ollama("m", [nobody], partial(OllamaHost, setting="memory.embedder.hosts")).identity()
    assert (caught.value.failure, caught.value.where) == (Failure.UNREACHABLE, nobody)
    assert "memory.embedder.hosts=[" in caught.value.hint


def test_a_full_queue_is_waited_for() -> None:
    hosts = Hosts({"a": "d"})
    hosts.failing = [Failure.BUSY, Failure.SERVER_ERROR]
    assert hosts.embedder().embed(["x"]).shape == (1, 2)
    assert hosts.failing == []
