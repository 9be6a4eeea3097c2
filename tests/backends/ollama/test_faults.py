"""Servers that break off, hang, stall, or answer nonsense: each ends, and is named."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import pytest

from mmerg.backends.ollama import Deadlines, Ollama
from mmerg.backends.protocol import Finish, Message, Request, Sampling
from mmerg.errors import CallError, Failure
from tests.backends.ollama.conftest import DRIP, HANG, LAST, Faulty, chunk, head, json_answer, line, stream, whole

REQUEST = Request((Message("user", "Hello"),), Sampling(num_predict=8))
SHORT = Deadlines(connect=0.3, first_token=0.3, stall=0.3, total=30)
OVERFLOW = json.dumps({"error": {"code": 400, "message": "too long", "type": "exceed_context_size_error"}})
HTML = whole(b"<html><body>502 Bad Gateway</body></html>", kind="text/html; charset=utf-8")


def backend(host: str, deadlines: Deadlines = SHORT) -> Ollama:
    return Ollama(host=host, model="m", load={"num_ctx": 512}, deadlines=deadlines)


def failure_of(server: Faulty, *steps: bytes, deadlines: Deadlines = SHORT) -> CallError:
    server.answer(*steps)
    with pytest.raises(CallError) as caught:
        backend(server.host, deadlines).complete(REQUEST)
    assert caught.value.hint
    return caught.value


def test_a_whole_reply(faulty: Faulty) -> None:
    said = [
        line("Hel", thinking="ignored here", logprobs=[{"token": "Hel", "logprob": -0.5, "bytes": [72, 101, 108]}]),
        line("lo", message={"content": "lo", "thinking": "hm"}, logprobs=[{"token": "lo", "logprob": -0.25}]),
    ]
    faulty.answer(stream(*said, LAST))
    reply = backend(faulty.host).complete(REQUEST)
    assert (reply.text, reply.thinking, reply.finish) == ("Hello", "hm", Finish.STOP)
    assert [entry.logprob for entry in reply.logprobs] == [-0.5, -0.25]
    assert (reply.prompt_tokens, reply.response_tokens, reply.prompt_seconds) == (7, 2, 0.005)
    assert reply.host == faulty.host
    assert reply.seconds > 0


def test_lines_may_be_cut_anywhere_by_chunks(faulty: Faulty) -> None:
    raw = line("Schön") + b"\n" + LAST.rstrip()
    faulty.answer(head() + b"".join(chunk(raw[i : i + 1]) for i in range(len(raw))) + chunk(b""))
    assert backend(faulty.host).complete(REQUEST).text == "Schön"


@pytest.mark.parametrize(
    ("steps", "finish"),
    [
        ((stream(line("a"), line(done=True, done_reason="length")),), Finish.LENGTH),
        ((stream(line("a"), line("a")),), Finish.ABORT),
        ((stream(line("a"), line(done=True)),), Finish.ABORT),
        ((whole(line("a")),), Finish.ABORT),
    ],
    ids=["length", "done false at a clean end", "no reason", "clean end by length"],
)
def test_finishes_that_are_not_stop(faulty: Faulty, steps: tuple[bytes, ...], finish: Finish) -> None:
    faulty.answer(*steps)
    assert backend(faulty.host).complete(REQUEST).finish is finish


@pytest.mark.parametrize(
    "steps",
    [
        (head() + chunk(line("a")),),
        (head() + chunk(line("a"))[:-9],),
        (head() + chunk(line("a")) + b"1",),
        (whole(line("a") + LAST)[:-5],),
        (b"HTTP/1.0 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n" + line("a"),),
        (b"",),
        (b"HTTP/1.1 200 OK\r\nContent-",),
    ],
    ids=[
        "between chunks",
        "in a chunk",
        "in a chunk's size",
        "before its length",
        "no frame",
        "no answer",
        "in a head",
    ],
)
def test_a_torn_answer_is_not_taken_for_its_end(faulty: Faulty, steps: tuple[bytes, ...]) -> None:
    assert failure_of(faulty, *steps).failure in {Failure.RUNNER_CRASH, Failure.SERVER_ERROR}


def test_torn_in_mid_stream_is_a_crash(faulty: Faulty) -> None:
    assert failure_of(faulty, head() + chunk(line("a"))).failure is Failure.RUNNER_CRASH


@pytest.mark.parametrize(
    ("steps", "phase"),
    [
        ((HANG,), "first_token"),
        ((head(), HANG), "first_token"),
        ((head() + chunk(line("a")[:9]), HANG), "first_token"),
        ((head() + chunk(line("a")), HANG), "stall"),
        ((head() + chunk(line("a")) + b"5", HANG), "stall"),
    ],
    ids=["nothing", "after the head", "in the first line", "between lines", "in a chunk's size"],
)
def test_silence_ends(faulty: Faulty, steps: tuple[bytes, ...], phase: str) -> None:
    error = failure_of(faulty, *steps)
    assert error.failure is Failure.TIMEOUT
    assert f"the {phase} deadline of 0.3 s" in error.what


def test_the_total_deadline_is_over_all(faulty: Faulty) -> None:
    patient = Deadlines(connect=5, first_token=60, stall=60, total=0.4)
    error = failure_of(faulty, head() + chunk(line("a")), HANG, deadlines=patient)
    assert (error.failure, "the total deadline of 0.4 s" in error.what) == (Failure.TIMEOUT, True)


@pytest.mark.parametrize("drip", [b"a", chunk(b" \n")], ids=["bytes of a head", "blank lines"])
def test_a_dripping_server_does_not_outlast_the_total_deadline(faulty: Faulty, drip: bytes) -> None:
    start = b"HTTP/1.1 200 OK\r\nX-Slow: " if drip == b"a" else head()
    patient = Deadlines(connect=5, first_token=60, stall=60, total=0.5)
    faulty.drip = drip
    assert failure_of(faulty, start, DRIP, deadlines=patient).failure is Failure.TIMEOUT


@pytest.mark.parametrize(
    ("steps", "failure"),
    [
        ((json_answer({"error": "boom"}, "500 Internal Server Error"),), Failure.SERVER_ERROR),
        ((json_answer({"error": "queue"}, "503 Service Unavailable"),), Failure.BUSY),
        ((json_answer({"error": OVERFLOW}, "400 Bad Request"),), Failure.CONTEXT_OVERFLOW),
        ((json_answer({"error": "model 'm' not found"}, "404 Not Found"),), Failure.MODEL_NOT_FOUND),
        ((stream(line("a"), b'{"error":"model runner has unexpectedly stopped"}\n'),), Failure.RUNNER_CRASH),
        ((stream(line("a"), json.dumps({"error": OVERFLOW}).encode()),), Failure.CONTEXT_OVERFLOW),
        ((json_answer({"error": {"message": "boom"}}),), Failure.SERVER_ERROR),
        ((stream(line(done=True, done_reason="load")),), Failure.SERVER_ERROR),
        ((stream(line(done=True, done_reason="unload")),), Failure.SERVER_ERROR),
        ((stream(line("a"), b"\xff\xfe garbage\n", LAST),), Failure.SERVER_ERROR),
        ((stream(b"[]\n", LAST),), Failure.SERVER_ERROR),
        ((stream(b'{"message": {"content": 5}}\n', LAST),), Failure.SERVER_ERROR),
        ((b"\x00\xff\x13garbage\r\n\r\n",), Failure.SERVER_ERROR),
        ((HTML,), Failure.SERVER_ERROR),
        ((whole(b"", kind="text/plain"),), Failure.SERVER_ERROR),
        ((stream(),), Failure.SERVER_ERROR),
        ((whole(b""),), Failure.SERVER_ERROR),
        ((whole(b"moved", "301 Moved\r\nLocation: http://127.0.0.1:1/"),), Failure.SERVER_ERROR),
    ],
    ids=[
        "500", "503", "nested", "404", "error line", "nested error line", "error object", "load", "unload",
        "garbage line", "no object", "wrong type", "garbage bytes", "HTML", "empty", "no line", "no byte", "redirect",
    ],
)  # fmt: skip
def test_errors_are_named(faulty: Faulty, steps: tuple[bytes, ...], failure: Failure) -> None:
    assert failure_of(faulty, *steps).failure is failure


def test_done_reason_is_said(faulty: Faulty) -> None:
    assert "'load'" in failure_of(faulty, stream(line(done=True, done_reason="load"))).what


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize("call", [lambda b: b.describe(), lambda b: b.complete(REQUEST)], ids=["describe", "complete"])
def test_nothing_listens(call: Callable[[Ollama], object]) -> None:
    with pytest.raises(CallError) as caught:
        call(backend(f"http://127.0.0.1:{closed_port()}"))
    assert caught.value.failure is Failure.UNREACHABLE
    assert "ollama serve" in caught.value.hint
    assert "backend.hosts" in caught.value.hint


def test_tls_to_a_plain_server(faulty: Faulty) -> None:
    with pytest.raises(CallError) as caught:
        backend(faulty.host.replace("http:", "https:")).complete(REQUEST)
    assert caught.value.failure is Failure.UNREACHABLE


@pytest.mark.parametrize(
    ("path", "answer", "failure"),
    [
        ("/api/version", HTML, Failure.SERVER_ERROR),
        ("/api/version", json_answer({"version": None}), Failure.SERVER_ERROR),
        ("/api/version", json_answer({"error": "no"}, "503 Busy"), Failure.BUSY),
        ("/api/tags", json_answer({"models": []}), Failure.MODEL_NOT_FOUND),
        ("/api/tags", HTML, Failure.SERVER_ERROR),
        ("/api/tags", b"", Failure.RUNNER_CRASH),
        ("/api/tags", HANG, Failure.TIMEOUT),
        ("/api/version", HANG, Failure.TIMEOUT),
        ("/api/show", json_answer({"error": "model 'm' not found"}, "404 Not Found"), Failure.MODEL_NOT_FOUND),
        ("/api/show", whole(b"moved", "301 Moved\r\nLocation: http://127.0.0.1:1/"), Failure.SERVER_ERROR),
    ],
)
def test_describe_names_its_failures(faulty: Faulty, path: str, answer: bytes, failure: Failure) -> None:
    faulty.answer(answer, path=path)
    with pytest.raises(CallError) as caught:
        backend(faulty.host).describe()
    assert caught.value.failure is failure
    if failure is Failure.MODEL_NOT_FOUND:
        assert caught.value.hint == "ollama pull m"


@pytest.mark.parametrize("steps", [(HANG,), (head() + chunk(line("a")), HANG)], ids=["queued", "in mid-stream"])
def test_close_breaks_off_a_call_in_flight(
    faulty: Faulty, steps: tuple[bytes, ...], in_thread: Callable[[Callable[[], object]], Callable[[], object]]
) -> None:
    faulty.answer(*steps)
    busy = backend(faulty.host, Deadlines())
    result = in_thread(lambda: busy.complete(REQUEST))
    faulty.reached_hang.wait()
    busy.close()
    with pytest.raises(CallError) as caught:
        result()
    assert caught.value.failure is Failure.INTERRUPTED


@pytest.mark.parametrize("call", [lambda b: b.describe(), lambda b: b.complete(REQUEST)], ids=["describe", "complete"])
def test_a_closed_backend_refuses(faulty: Faulty, call: Callable[[Ollama], object]) -> None:
    closed = backend(faulty.host)
    closed.close()
    closed.close()
    with pytest.raises(CallError) as caught:
        call(closed)
    assert caught.value.failure is Failure.INTERRUPTED
    assert faulty.requests == []
