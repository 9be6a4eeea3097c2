"""Servers that hang up, hang or send nonsense: every call ends with a named failure, for each API."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from mmerg.backends.http import Deadlines
from mmerg.backends.ollama import Ollama
from mmerg.backends.openai import OpenAI
from mmerg.backends.protocol import Backend, Finish, Message, Request, Sampling
from mmerg.errors import CallError, Failure
from tests.backends.conftest import (
    CLOSE,
    HANG,
    LAST,
    Faulty,
    chat_body,
    chunk,
    head,
    json_response,
    line,
    stream,
    whole,
)
from tests.llama_server import find_free_port

REQUEST = Request((Message("user", "Hello"),), Sampling(num_predict=8))
PATIENT = Deadlines(connect=30, first_token=30, stall=30, total=30)
SILENT = replace(PATIENT, first_token=0.1, stall=0.1)  # for servers that say nothing
OVERFLOW = json.dumps({"error": {"code": 400, "message": "too long", "type": "exceed_context_size_error"}})
HTML = whole(b"<html><body>502 Bad Gateway</body></html>", kind="text/html; charset=utf-8")


@dataclass(frozen=True)
class Wire:
    """An API: its path for chat, a complete response and its type, and parts of the hints if the host is down (away) or
    lacks the model (pull)."""

    name: str
    path: str
    body: bytes
    kind: str
    away: str
    pull: str

    def backend(self, host: str, deadlines: Deadlines = PATIENT) -> Backend:
        if self.name == "ollama":
            return Ollama(host=host, model="m", load={"num_ctx": 512}, deadlines=deadlines)
        return OpenAI(host=host, model="m", dialect="vllm", load={"num_ctx": 512}, deadlines=deadlines)

    def failure(self, server: Faulty, *steps: bytes, deadlines: Deadlines = PATIENT) -> CallError:
        """The error of a call that the server answers with `steps`."""
        server.respond(*steps, path=self.path)
        with pytest.raises(CallError) as caught:
            self.backend(server.host, deadlines).complete(REQUEST)
        assert caught.value.hint
        return caught.value


OLLAMA = Wire("ollama", "/api/chat", line("a") + LAST, "application/x-ndjson", "ollama serve", "ollama pull m")
WIRES = [
    OLLAMA,
    Wire(
        "openai",
        "/v1/chat/completions",
        json.dumps(chat_body("a")).encode(),
        "application/json",
        "start it",
        "or load the model there",
    ),
]


@pytest.fixture(params=WIRES, ids=lambda wire: wire.name)
def wire(request: pytest.FixtureRequest) -> Wire:
    assert isinstance(request.param, Wire)
    return request.param


def backend(host: str, deadlines: Deadlines = PATIENT) -> Backend:
    return OLLAMA.backend(host, deadlines)


def catch_failure(server: Faulty, *steps: bytes, deadlines: Deadlines = PATIENT) -> CallError:
    return OLLAMA.failure(server, *steps, deadlines=deadlines)


# Every API


def test_a_body_may_be_split_anywhere_into_chunks(faulty: Faulty, wire: Wire) -> None:
    parts = b"".join(chunk(wire.body[i : i + 1]) for i in range(len(wire.body)))
    faulty.respond(head(wire.kind) + parts + chunk(b""), path=wire.path)
    made = wire.backend(faulty.host).complete(REQUEST)
    assert (made.text, made.finish, made.host, made.prompt_tokens) == ("a", Finish.STOP, faulty.host, 7)
    assert made.seconds > 0


@pytest.mark.parametrize(
    ("steps", "failure"),
    [
        ((json_response({"error": "boom"}, "500 Internal Server Error"),), Failure.SERVER_ERROR),
        ((json_response({"error": "queue"}, "503 Service Unavailable"),), Failure.BUSY),
        ((json_response({"error": OVERFLOW}, "400 Bad Request"),), Failure.CONTEXT_OVERFLOW),
        ((json_response({"error": "model 'm' not found"}, "404 Not Found"),), Failure.MODEL_NOT_FOUND),
        ((json_response({"error": {"message": "boom"}}),), Failure.SERVER_ERROR),
        ((whole(b"[]\n"),), Failure.SERVER_ERROR),
        ((b"\x00\xff\x13garbage\r\n\r\n",), Failure.SERVER_ERROR),
        ((HTML,), Failure.SERVER_ERROR),
        ((b"HTTP/1.0 502 Bad Gateway\r\n\r\nno server", CLOSE), Failure.RUNNER_CRASH),
        ((b"HTTP/1.0 413 Too Large\r\n\r\ntoo large", CLOSE), Failure.BAD_REQUEST),
        ((whole(b"", kind="text/plain"),), Failure.SERVER_ERROR),
        ((stream(),), Failure.SERVER_ERROR),
        ((whole(b""),), Failure.SERVER_ERROR),
        ((whole(b"moved", "301 Moved\r\nLocation: http://127.0.0.1:1/"),), Failure.SERVER_ERROR),
    ],
    ids=[
        "500", "503", "nested", "404", "error object", "no object", "garbage bytes", "HTML",
        "502 of a proxy", "413 of a proxy", "empty", "no line", "no byte", "redirect",
    ],
)  # fmt: skip
def test_errors_are_named(faulty: Faulty, wire: Wire, steps: tuple[bytes, ...], failure: Failure) -> None:
    assert wire.failure(faulty, *steps).failure is failure


@pytest.mark.parametrize("call", [lambda b: b.describe(), lambda b: b.complete(REQUEST)], ids=["describe", "complete"])
def test_an_unreachable_host_is_named(wire: Wire, call: Callable[[Backend], object]) -> None:
    with pytest.raises(CallError) as caught:
        call(wire.backend(f"http://127.0.0.1:{find_free_port()}"))
    assert caught.value.failure is Failure.UNREACHABLE
    assert wire.away in caught.value.hint
    assert "backend.hosts" in caught.value.hint


@pytest.mark.parametrize(
    ("path", "answer", "failure"),
    [
        ("/version", json_response({"error": "no"}, "503 Busy"), Failure.BUSY),
        ("/version", HANG, Failure.TIMEOUT),
        ("/version", json_response({"detail": "Not Found"}, "404 Not Found"), Failure.BAD_REQUEST),
        ("/v1/models", json_response({"object": "list", "data": []}), Failure.MODEL_NOT_FOUND),
        ("/v1/models", json_response({"data": [{"id": "m", "max_model_len": "many"}]}), Failure.SERVER_ERROR),
        ("/v1/models", b"", Failure.RUNNER_CRASH),
        ("/api/version", json_response({"error": "no"}, "503 Busy"), Failure.BUSY),
        ("/api/tags", json_response({"models": []}), Failure.MODEL_NOT_FOUND),
        ("/api/tags", b"", Failure.RUNNER_CRASH),
        ("/api/version", HANG, Failure.TIMEOUT),
        ("/api/show", json_response({"error": "model 'm' not found"}, "404 Not Found"), Failure.MODEL_NOT_FOUND),
        ("/api/show", whole(b"moved", "301 Moved\r\nLocation: http://127.0.0.1:1/"), Failure.SERVER_ERROR),
    ],
)
def test_describe_names_its_failures(faulty: Faulty, path: str, answer: bytes, failure: Failure) -> None:
    wire = WIRES["api" not in path]
    faulty.respond(answer, path=path)
    with pytest.raises(CallError) as caught:
        wire.backend(faulty.host, SILENT if answer == HANG else PATIENT).describe()
    assert caught.value.failure is failure
    if failure is Failure.MODEL_NOT_FOUND:
        assert wire.pull in caught.value.hint


# Streams, as Ollama's


def test_a_completion_is_read(faulty: Faulty) -> None:
    lines = [
        line("Hel", thinking="ignored here", logprobs=[{"token": "Hel", "logprob": -0.5, "bytes": [72, 101, 108]}]),
        line(
            message={"role": "assistant", "content": "lo", "thinking": "hm"},
            logprobs=[{"token": "lo", "logprob": -0.25}],
        ),
    ]
    faulty.respond(stream(*lines, LAST))
    completion = backend(faulty.host).complete(REQUEST)
    assert (completion.text, completion.thinking, completion.finish) == ("Hello", "hm", Finish.STOP)
    assert [entry.logprob for entry in completion.logprobs] == [-0.5, -0.25]
    assert (completion.prompt_tokens, completion.response_tokens, completion.prompt_seconds) == (7, 2, 0.005)


@pytest.mark.parametrize(
    ("steps", "finish"),
    [
        ((stream(line("a"), line(done=True, done_reason="length")),), Finish.LENGTH),
        ((stream(line("a"), line("a")),), Finish.ABORT),
        ((stream(line("a"), line(done=True)),), Finish.ABORT),
        ((stream(line(done=True, done_reason="load")),), Finish.ABORT),
        ((whole(line("a")),), Finish.ABORT),
    ],
    ids=["length", "done false at a clean end", "no reason", "no completion", "clean end by length"],
)
def test_other_reasons_to_finish_are_read(faulty: Faulty, steps: tuple[bytes, ...], finish: Finish) -> None:
    faulty.respond(*steps)
    assert backend(faulty.host).complete(REQUEST).finish is finish


@pytest.mark.parametrize(
    ("steps", "failure"),
    [
        ((stream(line("a"), b'{"error":"model runner has unexpectedly stopped"}\n'),), Failure.RUNNER_CRASH),
        ((stream(line("a"), json.dumps({"error": OVERFLOW}).encode()),), Failure.CONTEXT_OVERFLOW),
        ((stream(line("a"), b"\xff\xfe garbage\n", LAST),), Failure.SERVER_ERROR),
        ((stream(b"[]\n", LAST),), Failure.SERVER_ERROR),
        ((stream(b'{"message": {"content": 5}}\n', LAST),), Failure.SERVER_ERROR),
    ],
    ids=["error line", "nested error line", "garbage line", "no object", "wrong type"],
)
def test_errors_within_a_stream_are_named(faulty: Faulty, steps: tuple[bytes, ...], failure: Failure) -> None:
    assert catch_failure(faulty, *steps).failure is failure
