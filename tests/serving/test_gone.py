"""Clients that disconnect, model servers that die, and many clients at once."""

import json
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from mmerg.backends.ollama import Ollama
from mmerg.backends.scripted import Scripted
from tests.in_thread import serving
from tests.scripted_ollama import scripted_ollama
from tests.serving.running import Running, running
from tests.serving.scripts import Held

BODY = {"model": "mmerg-one_pass", "messages": [{"role": "user", "content": "Hey."}]}
TALK = json.dumps({"chat": "a", "system": "mmerg-one_pass", "turns": [{"role": "user", "text": "Hey."}]})
REQUESTS = {
    "openai": ("/v1/chat/completions", {"json": {**BODY, "stream": True}}),
    "ollama, whole": ("/api/chat", {"json": {**BODY, "stream": False}}),
    "page": ("/page/turns", {"files": {"talk": (None, TALK)}}),
    "task": ("/v1/chat/completions", {"json": {**BODY, "messages": [{"role": "user", "content": "### Task: x"}]}}),
}


class Hung:
    """The state of a model server that never responds. called: set when a call comes. left: set when its caller closes
    the connection."""

    def __init__(self) -> None:
        self.called, self.left = threading.Event(), threading.Event()


@contextmanager
def hung() -> Iterator[tuple[Hung, str]]:
    """Runs an Ollama server that lists its model, and hangs in every chat."""
    state = Hung()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._send({"version": "0.24.0", "models": [{"name": "m", "model": "m", "digest": "d" * 64}]})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/api/show":
                self._send({"capabilities": ["completion", "vision"], "model_info": {}, "details": {}})
                return
            state.called.set()
            assert self.connection.recv(1) == b""  # the caller has closed the connection
            state.left.set()
            self.close_connection = True

        def _send(self, content: object) -> None:
            data = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, serving(server):
        yield state, f"http://127.0.0.1:{server.server_address[1]}"


@pytest.fixture(scope="module")
def never_answered() -> Iterator[tuple[Hung, Running]]:
    """A model server that never responds, and a server that uses it."""
    with hung() as (model, host), running(Ollama(model="m", load={"num_ctx": 4096}, host=host)) as server:
        server.state.turn_runner.silence = 0.1  # seconds until a whole response sees that its client is gone
        yield model, server


@pytest.mark.parametrize("api", list(REQUESTS))
def test_a_client_that_disconnects_stops_the_call_to_the_model(never_answered: tuple[Hung, Running], api: str) -> None:
    (model, server), (path, request) = never_answered, REQUESTS[api]
    model.called.clear()
    model.left.clear()
    with socket.create_connection(_address(server)) as client:
        built = httpx.Request("POST", f"{server.url}{path}", **request)  # type: ignore[arg-type]
        head = "".join(f"{name}: {value}\r\n" for name, value in built.headers.items())
        client.sendall(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + built.read())
        assert model.called.wait(60)
    assert model.left.wait(60)
    assert server.client.get("/v1/models").status_code == 200


def test_a_waiting_client_that_disconnects_leaves_the_queue() -> None:
    held = Held()
    scripted = Scripted(held)
    with running(scripted, "limits.waiting=2") as server, ThreadPoolExecutor(1) as threads:
        first = threads.submit(_get_reply, server, "First.")
        assert held.begun.wait(60)
        request = server.client.build_request("POST", "/v1/chat/completions", json={**BODY, "stream": True})
        leaving, behind = (server.client.send(request, stream=True) for _ in range(2))
        lines = behind.iter_lines()
        assert any("Waiting: 1 turn is before" in line for line in leaving.iter_lines())
        assert any("Waiting: 2 turns are before" in line for line in lines)
        leaving.close()
        while (last := server.client.send(request, stream=True)).status_code == 503:  # until it has left
            last.close()
        held.let_go.set()
        assert any("You said" in line for line in lines)
        behind.close()
        assert "You said" in last.read().decode()
        assert first.result() == "You said: First."
        assert scripted.calls == 3


def test_a_full_queue_refuses_further_turns() -> None:
    held = Held()
    with running(Scripted(held), "limits.waiting=1") as server, ThreadPoolExecutor(1) as threads:
        first = threads.submit(_get_reply, server, "First.")
        assert held.begun.wait(60)
        with server.client.stream("POST", "/v1/chat/completions", json={**BODY, "stream": True}) as waiting:
            lines = waiting.iter_lines()
            assert any("Waiting: 1 turn is before this one" in line for line in lines)
            for path, request in REQUESTS.values():
                answer = server.client.post(path, **request)  # type: ignore[arg-type]
                assert answer.status_code == 503
                assert "1 turns are already waiting for the model" in answer.text
                assert "try again in a while" in answer.text
            held.let_go.set()
            assert any("You said" in line for line in lines)
        assert first.result() == "You said: First."


@pytest.mark.parametrize("api", ["openai", "page"])
def test_a_silent_stream_sends_comments(api: str) -> None:
    held, signs = Held(), 0
    path, request = REQUESTS[api]
    with running(Scripted(held)) as server:
        server.state.turn_runner.silence = 0.02
        with server.client.stream("POST", path, **request) as stream:  # type: ignore[arg-type]
            for line in stream.iter_lines():
                signs += line == ": at work"
                if signs == 5:
                    held.let_go.set()
    assert signs >= 5


def _address(server: Running) -> tuple[str, int]:
    return "127.0.0.1", int(server.url.rpartition(":")[2])


def _post(server: Running, text: str) -> httpx.Response:
    body = {**BODY, "messages": [{"role": "user", "content": text}]}
    return server.client.post("/v1/chat/completions", json=body)


def _get_reply(server: Running, text: str) -> str:
    answer = _post(server, text)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["choices"][0]["message"]["content"])


@pytest.mark.slow
def test_many_clients_get_their_own_replies_before_and_after_the_model_server_dies() -> None:
    def answer(body: dict[str, Any]) -> str:
        said = re.findall(r"^1\. You: (.*)$", body["messages"][-1]["content"], re.MULTILINE)[0]
        return json.dumps({"emotion": "joy", "response": f"You said: {said}"})

    def on_call(number: int) -> None:
        if number == 15:
            enough.set()

    enough, texts = threading.Event(), [f"This is number {number}." for number in range(50)]
    with ExitStack() as stack, ThreadPoolExecutor(50) as clients:
        first = stack.enter_context(scripted_ollama(on_call, answer, models=("m",)))
        backend = Ollama(model="m", load={"num_ctx": 4096}, host=first.url)
        with running(backend, slots=4, patience=0.1) as server:
            futures = [clients.submit(_post, server, text) for text in texts]
            assert enough.wait(60)
            stack.close()
            responses = [future.result() for future in futures]
            whole = server.client.post("/v1/chat/completions", json=BODY)
            assert (whole.status_code, whole.json()["error"]["type"]) == (503, "server_error")
            streamed = server.client.post("/v1/chat/completions", json={**BODY, "stream": True})
            for refused in (whole, streamed):
                assert "no host has responded" in refused.text
                assert "start the model's server, then try again" in refused.text
            with scripted_ollama(answer=answer, models=("m",), port=int(first.url.rpartition(":")[2])):
                assert list(clients.map(lambda text: _get_reply(server, text), texts)) == [
                    f"You said: {t}" for t in texts
                ]
    statuses = [response.status_code for response in responses]
    assert statuses.count(200) >= 15 - 4  # calls in progress are lost
    assert set(statuses) <= {200, 502, 503}
    for text, response in zip(texts, responses, strict=True):
        assert response.status_code != 200 or f"You said: {text}" in response.text
