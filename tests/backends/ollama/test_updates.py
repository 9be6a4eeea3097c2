"""Hosts that are updated while they are down or in use."""

from pathlib import Path

import pytest

from mmerg.backends.cache import Cache
from mmerg.backends.ollama import Ollama
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.errors import CallError, ConfigError, Failure
from tests.backends.conftest import LAST, Faulty, json_response, line, stream

CRASH = json_response({"error": "model runner has unexpectedly stopped"}, "500 Internal Server Error")
THINKS_NOT = {"capabilities": ["completion"], "model_info": {"general.architecture": "a", "a.context_length": 512}}


def request(text: str) -> Request:
    return Request((Message("user", text),), Sampling())


def build_pool(server: Faulty, folder: Path) -> Pool:
    """Cache, retries and adapter, as in a run."""
    adapter = Ollama(host=server.host, model="m", load={"num_ctx": 512})
    return Pool([Host(Cache(adapter, folder / "completions.sqlite"), 2, server.host)], attempts=1)


@pytest.mark.parametrize(
    ("path", "answer", "says"),
    [
        ("/api/version", {"version": "0.25.0"}, "another engine: server version 0.24.0 → 0.25.0"),
        (
            "/api/tags",
            {"models": [{"model": "m:latest", "digest": "d2"}]},
            "model digest d1 → d2",
        ),
        ("/api/tags", {"models": []}, "model 'm' not found"),
        ("/api/show", THINKS_NOT, "another engine: capabilities completion, vision → completion"),
    ],
    ids=["version", "digest", "model gone", "capabilities"],
)
def test_a_host_that_was_updated_while_down_is_not_used(
    faulty: Faulty, tmp_path: Path, path: str, answer: object, says: str
) -> None:
    pool = build_pool(faulty, tmp_path)
    pool.describe()
    with pool.lease() as backend, pool.lease() as neighbour:
        faulty.respond(CRASH)
        with pytest.raises(CallError, match="unexpectedly stopped"):
            backend.complete(request("one"))
        faulty.respond(stream(line("new"), LAST))
        faulty.respond(json_response(answer), path=path)
        for lease in (backend, neighbour):  # the neighbour had its slot before the host went down
            with pytest.raises(ConfigError, match="no host serves the run's model any longer") as caught:
                lease.complete(request("two"))
            assert says in caught.value.where
    assert len(faulty.bodies("/api/chat")) == 1
    pool.close()


def describe_adapter(server: Faulty) -> Ollama:
    adapter = Ollama(host=server.host, model="m", load={"num_ctx": 512})
    adapter.describe()
    server.respond(stream(line("hi"), LAST))
    server.requests.clear()
    return adapter


def test_a_changed_host_gives_no_completion_even_if_it_is_described_again(faulty: Faulty) -> None:
    """Another sample's call may wait for its next try while the host is described again."""
    adapter = describe_adapter(faulty)
    adapter.complete(request("one"))
    faulty.respond(json_response({"version": "0.25.0"}), path="/api/version")
    assert adapter.describe().version == "0.25.0"
    with pytest.raises(CallError, match=r"another engine: server version 0\.24\.0 → 0\.25\.0") as caught:
        adapter.complete(request("two"))
    assert caught.value.failure is Failure.MODEL_NOT_FOUND


@pytest.mark.parametrize(
    ("path", "answer", "failure"),
    [
        ("/api/tags", json_response({"models": 3}), Failure.SERVER_ERROR),
        ("/api/tags", json_response({"error": "busy"}, "503 Service Unavailable"), Failure.BUSY),
        ("/api/version", b"", Failure.RUNNER_CRASH),
    ],
    ids=["odd", "busy", "broken off"],
)
def test_a_completion_is_refused_if_the_host_does_not_say_what_it_serves(
    faulty: Faulty, path: str, answer: bytes, failure: Failure
) -> None:
    adapter = describe_adapter(faulty)
    faulty.respond(answer, path=path)
    with pytest.raises(CallError) as caught:
        adapter.complete(request("one"))
    assert caught.value.failure is failure
