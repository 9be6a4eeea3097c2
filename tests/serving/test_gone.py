"""Clients that hang up, models that die, and many who ask at once."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from mmerg.backends.ollama import Ollama
from mmerg.backends.scripted import Scripted
from tests.in_thread import serving
from tests.scripted_ollama import scripted_ollama
from tests.serving.running import Running, running
from tests.serving.scripts import Held, echo

ASKED = {"model": "mmerg-one_pass", "messages": [{"role": "user", "content": "Hey."}]}
TALK = json.dumps({"chat": "a", "system": "mmerg-one_pass", "turns": [{"who": "you", "text": "Hey."}]})
WAYS = {
    "openai": ("/v1/chat/completions", {"json": {**ASKED, "stream": True}}),
    "openai, whole": ("/v1/chat/completions", {"json": ASKED}),
    "ollama": ("/api/chat", {"json": ASKED}),
    "ollama, whole": ("/api/chat", {"json": {**ASKED, "stream": False}}),
    "page": ("/page/turns", {"files": {"talk": (None, TALK)}}),
    "task": ("/v1/chat/completions", {"json": {**ASKED, "messages": [{"role": "user", "content": "### Task: x"}]}}),
}


class Hung:
    """A model's server that takes one call after the other and never answers. called: a call has come; left: the
    connection of one was closed by whoever called."""

    def __init__(self) -> None:
        self.called, self.left = threading.Event(), threading.Event()


@contextmanager
def hung() -> Iterator[tuple[Hung, str]]:
    """An Ollama server that says what it holds, and hangs in every chat."""
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
            with_nothing = self.connection.recv(1)
            assert with_nothing == b""
            state.left.set()
            self.close_connection = True

        def _send(self, told: object) -> None:
            data = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, serving(server):
        yield state, f"http://127.0.0.1:{server.server_address[1]}"


@pytest.mark.parametrize("way", list(WAYS))
def test_a_client_that_hangs_up_stops_the_call_to_the_model(way: str) -> None:
    """The model's server would never answer: that its connection is closed is the client's doing alone."""
    path, request = WAYS[way]
    with hung() as (model, host), running(Ollama(model="m", load={"num_ctx": 4096}, host=host)) as server:
        with socket.create_connection(_address(server)) as client:
            built = httpx.Request("POST", f"{server.url}{path}", **request)  # type: ignore[arg-type]
            head = "".join(f"{name}: {value}\r\n" for name, value in built.headers.items())
            client.sendall(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + built.read())
            assert model.called.wait(60)
        assert model.left.wait(60)
        with closing(httpx.Client()) as another:  # the slot is free again
            assert another.get(f"{server.url}/v1/models").status_code == 200


def test_the_slot_of_one_who_hung_up_is_for_the_next() -> None:
    held = Held()
    with running(Scripted(held)) as server:
        with httpx.stream("POST", f"{server.url}/v1/chat/completions", json={**ASKED, "stream": True}):
            assert held.begun.wait(60)
        held.let_go.set()
        assert _said(server, "Next.") == "You said: Next."


def test_one_who_hangs_up_in_the_line_leaves_it() -> None:
    held = Held()
    scripted = Scripted(held)
    with running(scripted) as server, ThreadPoolExecutor(1) as threads:
        first = threads.submit(_said, server, "First.")
        assert held.begun.wait(60)
        path, body = f"{server.url}/v1/chat/completions", {**ASKED, "stream": True}
        with httpx.stream("POST", path, json=body, timeout=60) as waiting:
            lines = (line for line in waiting.iter_lines() if "Waiting" in line)
            assert "Waiting: 1 turn is before this one" in next(lines)
        held.let_go.set()
        assert first.result() == "You said: First."
        assert _said(server, "Next.") == "You said: Next."
        assert scripted.calls == 2


def test_one_who_does_not_read_holds_nobody_up() -> None:
    body = json.dumps({**ASKED, "stream": True}).encode()
    with running(Scripted(echo)) as server, socket.create_connection(_address(server)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        slow.sendall(head.encode() + body)
        assert [_said(server, text) for text in ("One.", "Two.")] == ["You said: One.", "You said: Two."]


def test_a_server_that_dies_is_told_and_one_that_comes_back_is_asked() -> None:
    def answer(_: object) -> str:
        return '{"emotion": "joy", "response": "Here."}'

    with ExitStack() as stack:
        first = stack.enter_context(scripted_ollama(answer=answer, models=("m",)))
        backend = Ollama(model="m", load={"num_ctx": 4096}, host=first.url)
        with running(backend, patience=0.1) as server:
            assert _said(server, "Hey.") == "Here."
            stack.close()
            told = httpx.post(f"{server.url}/v1/chat/completions", json=ASKED, timeout=60)
            assert (told.status_code, told.json()["error"]["type"]) == (503, "server_error")
            assert "no host has answered" in told.json()["error"]["message"]
            streamed = httpx.post(f"{server.url}/v1/chat/completions", json={**ASKED, "stream": True}, timeout=60)
            assert "no host has answered" in streamed.text
            with scripted_ollama(answer=answer, models=("m",), port=int(first.url.rpartition(":")[2])):
                assert _said(server, "Hey.") == "Here."


def _address(server: Running) -> tuple[str, int]:
    return "127.0.0.1", int(server.url.rpartition(":")[2])


def _said(server: Running, text: str) -> str:
    body = {**ASKED, "messages": [{"role": "user", "content": text}]}
    answer = httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["choices"][0]["message"]["content"])


def test_fifty_clients_get_each_their_own_reply() -> None:
    with running(Scripted(echo), slots=4) as server, ThreadPoolExecutor(50) as clients:
        texts = [f"This is number {number}." for number in range(150)]
        assert list(clients.map(lambda text: _said(server, text), texts)) == [f"You said: {text}" for text in texts]
