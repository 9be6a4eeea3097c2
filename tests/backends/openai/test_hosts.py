"""Several OpenAI-style servers in a pool, as a run wires them: one dies, one is not like the other, one is changed."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mmerg.backends.cache import Cache
from mmerg.backends.openai import OpenAI
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Message, Request, Sampling
from tests.backends.conftest import Faulty, completion, faulty_server, json_answer

CHAT = "/v1/chat/completions"
HELLO = Request((Message("user", "Hello"),), Sampling(num_predict=8))


@pytest.fixture
def servers() -> Iterator[tuple[Faulty, Faulty]]:
    """Two that serve the same and reply with their names."""
    with ExitStack() as stack:
        one, two = (stack.enter_context(faulty_server()) for _ in range(2))
        for name, server in (("one", one), ("two", two)):
            server.answer(json_answer(completion(name)), path=CHAT)
        yield one, two


def pool_of(folder: Path, *servers: Faulty) -> Pool:
    hosts = []
    for server in servers:
        adapter = OpenAI(host=server.host, model="m", dialect="vllm", load={"num_ctx": 512}, check_wait=0.01)
        hosts.append(Host(Cache(adapter, folder / "replies.sqlite"), 1, server.host))
    return Pool(hosts, wait=0.01, attempts=2)


@pytest.mark.parametrize("status", [502, 503])
def test_a_call_waits_while_a_server_starts_anew(servers: tuple[Faulty, Faulty], tmp_path: Path, status: int) -> None:
    """llama-server answers 503 while it loads its model, a proxy before a server that is away 502."""
    server, _ = servers
    loading = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
    pool = pool_of(tmp_path, server)
    pool.describe()
    for path in (CHAT, CHAT, "/version", "/version"):
        server.answer_once(json_answer(loading if status == 503 else "Bad Gateway", f"{status} Said"), path=path)
    with pool.lease() as backend:
        assert backend.complete(HELLO).text == "one"
    pool.close()
