"""Vectors from Ollama: over hosts, past one that fails, and of a real server."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from mmerg.backends.ollama_host import OllamaHost
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.memory.ollama import Ollama
from tests.ollama_server import TEXT_MODEL


class Hosts:
    """Hosts by name: what each says that it is, and whether it answers."""

    def __init__(self, digests: dict[str, str], dead: Sequence[str] = ()) -> None:
        self.digests, self.dead = digests, dead
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.tried: list[str] = []

    def embedder(self) -> Ollama:
        return Ollama("minilm", list(self.digests), lambda name: One(self, name))

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
        self.hosts.alive(self.name)
        return "0.24.0", self.hosts.digests[self.name]

    def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        self.hosts.alive(self.name)
        self.hosts.asked.append((self.name, tuple(texts)))
        return [[float(len(text)), 1.0] for text in texts]


def test_texts_go_alone_and_in_turn() -> None:
    hosts = Hosts({"a": "d", "b": "d"})
    vectors = hosts.embedder().embed(["x", "yy", "zzz", "x"])
    assert sorted(texts for _, texts in hosts.asked) == [("x",), ("x",), ("yy",), ("zzz",)]
    assert sorted(host for host, _ in hosts.asked) == ["a", "a", "b", "b"]
    assert np.array_equal(vectors[0], vectors[3])
    assert np.allclose(vectors[1], np.array([2, 1]) / np.sqrt(5))


def test_a_host_that_fails_is_passed_by() -> None:
    hosts = Hosts({"a": "d", "b": "d"}, dead=["a"])
    assert hosts.embedder().embed(["x", "yy"]).shape == (2, 2)
    assert {host for host, _ in hosts.asked} == {"b"}
    assert json.loads(hosts.embedder().identity())["digest"] == "d"


def test_a_host_that_was_down_at_first_is_not_asked_while_another_answers() -> None:
    hosts = Hosts({"a": "d", "b": "other"}, dead=["b"])
    embedder = hosts.embedder()
    assert json.loads(embedder.identity())["digest"] == "d"
    hosts.dead = []
    embedder.embed(["x", "yy", "zzz"])
    assert {host for host, _ in hosts.asked} == {"a"}


def test_no_vector_is_had_from_a_host_that_came_back_with_another_model() -> None:
    hosts = Hosts({"a": "d", "b": "other"}, dead=["b"])
    embedder = hosts.embedder()
    embedder.identity()
    hosts.dead = ["a"]
    with pytest.raises(ConfigError, match="do not hold the same model minilm: b has"):
        embedder.embed(["x"])
    assert hosts.asked == []


def test_a_host_that_comes_back_with_the_same_model_serves_again() -> None:
    hosts = Hosts({"a": "d", "b": "d"}, dead=["b"])
    embedder = hosts.embedder()
    embedder.embed(["x"])
    hosts.dead = ["a"]
    embedder.embed(["y"])
    hosts.dead = []
    embedder.embed(["z"])
    assert [host for host, _ in hosts.asked] == ["a", "b", "b"]


def test_a_dead_host_is_tried_once_not_by_every_text() -> None:
    hosts = Hosts({"a": "d", "b": "d"})
    embedder = hosts.embedder()
    embedder.identity()
    hosts.tried, hosts.dead = [], ["a"]
    for text in ("x", "y", "z", "x", "y", "z"):
        embedder.embed([text])
    assert hosts.tried.count("a") == 1
    assert len(hosts.asked) == 6


def test_no_host_answers() -> None:
    hosts = Hosts({"a": "d", "b": "d"}, dead=["a", "b"])
    with pytest.raises(CallError, match=r"nothing answers at [ab]"):
        hosts.embedder().embed(["x"])
    with pytest.raises(CallError, match=r"nothing answers at [ab]"):
        hosts.embedder().identity()


def test_hosts_that_hold_two_models_are_refused() -> None:
    with pytest.raises(ConfigError, match="do not hold the same model minilm"):
        Hosts({"a": "d", "b": "e"}).embedder().identity()


def test_no_host_is_named() -> None:
    for act in (Hosts({}).embedder().identity, partial(Hosts({}).embedder().embed, ["x"])):
        with pytest.raises(ConfigError, match="hosts is empty"):
            act()


def test_a_real_server(ollama_host: str) -> None:
    embedder = Ollama(TEXT_MODEL, [ollama_host], OllamaHost)
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
