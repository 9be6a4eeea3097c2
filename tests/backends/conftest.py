"""A local HTTP server that sends the responses of a test, and records requests."""

import json
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.in_thread import serving

HANG = b"hang"  # a step of a response: send nothing until the test ends
CLOSE = b"close"  # a step: hang up
DRIP = b"drip"  # a step: send `drip` repeatedly until the client hangs up
DESCRIPTIONS: dict[str, dict[str, Any]] = {
    "/api/version": {"version": "0.24.0"},
    "/api/tags": {"models": [{"model": "m:latest", "name": "m:latest", "digest": "d1"}]},
    "/api/show": {
        "capabilities": ["completion", "vision"],
        "model_info": {"general.architecture": "a", "a.context_length": 512},
    },
    # as vLLM 0.32
    "/version": {"version": "0.32.0"},
    "/v1/models": {"object": "list", "data": [{"id": "m", "object": "model", "root": "/m", "max_model_len": 512}]},
}


class Faulty(socketserver.ThreadingTCPServer):
    """A server that responds to POST /api/chat (or `path`) with raw bytes, else like a small Ollama or vLLM."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64  # with the usual 5, some simultaneous clients would wait a second

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, Any]] = []
        self.heads: list[str] = []
        self.release = threading.Event()
        self.reached_hang = threading.Event()
        self.wrap: Callable[[socket.socket], socket.socket] = lambda plain: plain  # a test can wrap sockets in TLS
        self.drip = b""  # what the step DRIP sends
        self.drip_seconds = 0.05
        self._once: dict[str, list[tuple[bytes, ...]]] = {}
        self._responses: dict[str, tuple[bytes, ...]] = {
            path: (json_response(content),) for path, content in DESCRIPTIONS.items()
        }

    def finish_request(self, request: Any, client_address: Any) -> None:
        # A client that does not trust the certificate hangs up during the handshake.
        with suppress(ssl.SSLError, ConnectionError), self.wrap(request) as connection:
            super().finish_request(connection, client_address)

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def respond(self, *steps: bytes, path: str = "/api/chat") -> None:
        self._responses[path] = steps

    def respond_once(self, *steps: bytes, path: str = "/api/chat") -> None:
        """Sets the response to the next request only."""
        self._once.setdefault(path, []).append(steps)

    def next_steps(self, path: str) -> tuple[bytes, ...]:
        if self._once.get(path):
            return self._once[path].pop(0)
        return self._responses.get(path, (json_response({"error": "404 page not found"}, "404 Not Found"),))

    def bodies(self, path: str) -> list[Any]:
        return [body for at, body in self.requests if at == path]


class _Handler(socketserver.StreamRequestHandler):
    server: Faulty

    def handle(self) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            head += line
        text = head.decode()
        path = text.split()[1]
        lengths = [line.split(":")[1] for line in text.splitlines() if line.lower().startswith("content-length:")]
        body = self.rfile.read(int(lengths[0])) if lengths else b""
        self.server.heads.append(text)
        self.server.requests.append((path, json.loads(body) if body else None))
        for step in self.server.next_steps(path):
            if step == HANG:
                self.server.reached_hang.set()
                self.server.release.wait()
                return
            if step == DRIP:
                self._drip()
                return
            if step == CLOSE:
                return
            with suppress(ConnectionError):  # the client has read enough
                self.wfile.write(step)

    def _drip(self) -> None:
        with suppress(ConnectionError):
            while not self.server.release.wait(self.server.drip_seconds):
                self.wfile.write(self.server.drip)


def json_response(content: object, status: str = "200 OK") -> bytes:
    """Returns a complete response that states its length."""
    return whole(json.dumps(content).encode(), status, "application/json")


def whole(body: bytes, status: str = "200 OK", kind: str = "application/x-ndjson") -> bytes:
    fields = f"Content-Type: {kind}\r\nContent-Length: {len(body)}"
    return f"HTTP/1.1 {status}\r\n{fields}\r\n\r\n".encode() + body


def line(text: str = "", **fields: object) -> bytes:
    return json.dumps({"message": {"role": "assistant", "content": text}, "done": False} | fields).encode() + b"\n"


LAST = line(done=True, done_reason="stop", prompt_eval_count=7, eval_count=2, prompt_eval_duration=5_000_000)


def chat_body(text: str = "", finish: str | None = "stop", **fields: object) -> dict[str, object]:
    """Returns a response of /v1/chat/completions; `fields` go into its message."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **fields}, "finish_reason": finish}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    return {"object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


def head(kind: str = "application/x-ndjson") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def stream(*lines: bytes) -> bytes:
    """Returns a complete chunked stream with a chunk for each line."""
    return head() + b"".join(chunk(line) for line in lines) + chunk(b"")


@contextmanager
def faulty_server() -> Iterator[Faulty]:
    """Runs a server, which ends all hanging responses at the end."""
    with Faulty() as server, serving(server):
        try:
            yield server
        finally:
            server.release.set()


@pytest.fixture
def faulty() -> Iterator[Faulty]:
    with faulty_server() as server:
        yield server


@pytest.fixture
def in_thread() -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Starts a call in a thread. Returns a function that waits for its result, or raises its error."""

    def start(call: Callable[[], object]) -> Callable[[], object]:
        outcome: list[object] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                outcome.append(call())
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()

        def result() -> object:
            thread.join()
            if errors:
                raise errors[0]
            return outcome[0]

        return result

    return start
