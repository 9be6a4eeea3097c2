"""What chat programs send, before it is a talk: parsed beside the event loop, bounded, and whose it is."""

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest
from fastapi import Request
from pydantic import BaseModel, Field
from starlette.types import Message

from mmerg.backends.scripted import Scripted
from mmerg.serving.messages import VALUES, client_key, queue_owner, read_body
from tests.serving.running import Running, running
from tests.serving.scripts import echo


class Where(BaseModel):
    """thread: in which it was parsed."""

    thread: int = Field(default_factory=threading.get_ident)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(Scripted(echo)) as server:
        yield server


def request(host: str = "127.0.0.1", key: str = "") -> Request:
    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}"}

    return Request({"type": "http", "client": (host, 1), "headers": [(b"authorization", key.encode())]}, receive)


def test_nobody_waits_while_a_request_is_parsed() -> None:
    async def threads() -> tuple[int, int]:
        return (await read_body(request(), Where)).thread, threading.get_ident()

    parsing, loop = asyncio.run(threads())
    assert parsing != loop


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/chat", "/page/turns"])
def test_a_request_of_too_many_values_is_refused(server: Running, path: str) -> None:
    """A parser takes a kilobyte for each of them."""
    body = json.dumps({"messages": [{}] * (VALUES // 2 + 1)})
    sent = server.client.post(path, files={"talk": (None, body)}) if "page" in path else None
    answer = sent or server.client.post(path, content=body)
    assert (answer.status_code, f"more than {VALUES} values" in answer.text) == (413, True)


def test_strangers_who_begin_alike_have_each_a_place_in_the_line() -> None:
    asking = [
        client_key(request()),
        client_key(request(host="10.0.0.2")),
        client_key(request(key="Bearer a")),
        client_key(request(key="Bearer b")),
    ]
    assert len({queue_owner(one, "Hi") for one in asking}) == 4
    assert queue_owner(asking[0], "Hi") == queue_owner(client_key(request()), "Hi")
