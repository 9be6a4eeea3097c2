"""Hosts of a pool that are updated while they are down."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmerg.backends.cache import Cache
from mmerg.backends.ollama import Ollama
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.backends.retry import Retry
from mmerg.errors import CallError, Failure
from tests.backends.ollama.conftest import LAST, Faulty, json_answer, line, stream

CRASH = json_answer({"error": "model runner has unexpectedly stopped"}, "500 Internal Server Error")
THINKS_NOT = {"capabilities": ["completion"], "model_info": {"general.architecture": "a", "a.context_length": 512}}


def request(text: str) -> Request:
    return Request((Message("user", text),), Sampling())


def pool_of(server: Faulty, folder: Path) -> Pool:
    """As a run wires it: cache, retries, adapter."""
    adapter = Ollama(host=server.host, model="m", load={"num_ctx": 512})
    return Pool([Host(Cache(Retry(adapter, attempts=1), folder / "replies.sqlite"), 2, server.host)])


@pytest.mark.parametrize(
    ("path", "answer", "says"),
    [
        ("/api/version", {"version": "0.25.0"}, "another engine: ollama 0.25.0"),
        ("/api/tags", {"models": [{"model": "m:latest", "name": "m:latest", "digest": "d2"}]}, "m d2"),
        ("/api/tags", {"models": []}, "model 'm' not found"),
        ("/api/show", THINKS_NOT, "another engine"),
    ],
    ids=["version", "digest", "model gone", "capabilities"],
)
def test_a_host_that_was_updated_while_down_stays_out(
    faulty: Faulty, tmp_path: Path, path: str, answer: object, says: str
) -> None:
    pool = pool_of(faulty, tmp_path)
    pool.describe()
    with pool.lease() as backend, pool.lease() as neighbour:
        faulty.answer(CRASH)
        with pytest.raises(CallError, match="unexpectedly stopped"):
            backend.complete(request("one"))
        faulty.answer(stream(line("new"), LAST))
        faulty.answer(json_answer(answer), path=path)
        for lease in (backend, neighbour):  # the neighbour had its slot before the host went down
            with pytest.raises(CallError, match=says) as caught:
                lease.complete(request("two"))
            assert caught.value.failure is Failure.UNREACHABLE
    assert len(faulty.asked("/api/chat")) == 1
    pool.close()


def test_a_host_that_comes_back_as_it_was_goes_on(faulty: Faulty, tmp_path: Path) -> None:
    pool = pool_of(faulty, tmp_path)
    pool.describe()
    with pool.lease() as backend:
        faulty.answer(CRASH)
        with pytest.raises(CallError):
            backend.complete(request("one"))
        faulty.answer(stream(line("same"), LAST))
        assert backend.complete(request("one")).text == "same"
    assert pool.down() == {}
    pool.close()
