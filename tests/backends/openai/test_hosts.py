"""A server in a pool that restarts during a run."""

from pathlib import Path

import pytest

from mmerg.backends.cache import Cache
from mmerg.backends.openai import OpenAI
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Message, Request, Sampling
from tests.backends.conftest import Faulty, chat_body, json_response

CHAT = "/v1/chat/completions"


@pytest.mark.parametrize("status", [502, 503])
def test_a_call_waits_while_a_server_restarts(faulty: Faulty, tmp_path: Path, status: int) -> None:
    """llama-server responds with 503 while it loads its model, and a proxy with 502 while its server is down."""
    loading = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
    adapter = OpenAI(host=faulty.host, model="m", dialect="vllm", load={"num_ctx": 512})
    faulty.respond(json_response(chat_body("one")), path=CHAT)
    pool = Pool([Host(Cache(adapter, tmp_path / "completions.sqlite"), 1, faulty.host)], wait=0.01, attempts=2)
    pool.describe()
    for path in (CHAT, CHAT, "/version", "/version"):
        faulty.respond_once(json_response(loading if status == 503 else "Bad Gateway", f"{status} Error"), path=path)
    with pool.lease() as backend:
        assert backend.complete(Request((Message("user", "Hello"),), Sampling(num_predict=8))).text == "one"
    pool.close()
