"""What is left of turns once they have ended: nothing that grows. `benchmarks/serving.py` weighs it."""

import gc
import os
import sys
import threading

import pytest

from mmerg.backends.protocol import Request
from mmerg.backends.scripted import Scripted
from mmerg.backends.stop import Stop
from mmerg.serving.saving import Trace
from mmerg.serving.updates import Updates
from tests.serving.running import Running, running
from tests.serving.scripts import echo, picture
from tests.serving.test_page import turn

ASKED = {"model": "mmerg-one_pass", "messages": [{"role": "user", "content": "Hey."}], "stream": True}
BROKEN = {**ASKED, "messages": [{"role": "user", "content": "Break."}]}
KINDS = (Stop, Updates, Trace)


def faulty(request: Request) -> str:
    """An echo whose code has a mistake, which one text reveals."""
    if "Break." in request.messages[-1].text:
        raise ValueError(request)
    return echo(request)


def some(server: Running, first: int) -> None:
    """Ten turns of the page, and two over every other API, some whose client hangs up,
    and some that fail; one shows something."""
    assert "event: done" in turn(server, ("picture", picture()), chat=f"chat-{first}").text
    client = server.client
    for number in range(first, first + 10):
        assert "event: done" in turn(server, chat=f"chat-{number}").text
        if number % 5:
            continue
        assert "[DONE]" in client.post("/v1/chat/completions", json=ASKED).text
        assert client.post("/api/chat", json={**ASKED, "stream": False}).json()["done"]
        assert "the server has a fault" in client.post("/v1/chat/completions", json=BROKEN).text
        with client.stream("POST", "/v1/chat/completions", json=ASKED):
            pass


def left() -> dict[str, int]:
    """Objects of a turn, threads, and open files."""
    gc.collect()
    kinds = [type(one) for one in gc.get_objects()]
    held = {kind.__name__: kinds.count(kind) for kind in KINDS}
    return {**held, "threads": threading.active_count(), "files": len(os.listdir("/proc/self/fd"))}  # noqa: PTH208


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells open files elsewhere")
def test_turns_leave_nothing_behind() -> None:
    with running(Scripted(faulty)) as server:
        some(server, 0)
        server.client.get("/v1/models")
        early = left()
        some(server, 10)
        server.client.get("/v1/models")
        late = left()
    assert {name: late[name] - early[name] for name in late if late[name] > early[name] + 2} == {}
