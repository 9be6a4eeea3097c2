"""HTTP: faults, limits and deadlines."""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import pytest

from mmerg.backends.cancel import CancelToken
from mmerg.backends.http import Deadlines, Http, read_lines
from mmerg.backends.ollama import Ollama
from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.openai import OpenAI
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.backends.server_errors import OLLAMA
from mmerg.errors import CallError, Failure
from tests.backends.conftest import (
    CLOSE,
    DRIP,
    HANG,
    LAST,
    Faulty,
    chunk,
    head,
    stream,
    whole,
)

PATIENT = Deadlines(connect=60, first_token=60, stall=60, total=60)
SILENT = replace(PATIENT, first_token=0.1, stall=0.1)  # for servers that say nothing
DRIPPING = replace(PATIENT, total=0.15)  # for servers that never end
HELLO = Request((Message("user", "Hello"),), Sampling(num_predict=8))
InThread = Callable[[Callable[[], object]], Callable[[], object]]


def request_lines(http: Http) -> list[bytes]:
    with http.post("/api/chat", {}) as response:
        return list(read_lines(response))


def catch_failure(http: Http) -> CallError:
    with closing(http), pytest.raises(CallError) as caught:
        request_lines(http)
    assert caught.value.where == http.host
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("steps", "failure"),
    [
        ((head() + chunk(b"a\n"), CLOSE), Failure.RUNNER_CRASH),
        ((head() + chunk(b"a\n")[:-3], CLOSE), Failure.RUNNER_CRASH),
        ((head() + chunk(b"a\n") + b"1", CLOSE), Failure.RUNNER_CRASH),
        ((whole(b"a\nb\n")[:-2], CLOSE), Failure.RUNNER_CRASH),
        ((b"HTTP/1.1 200 OK\r\n\r\na\n", CLOSE), Failure.RUNNER_CRASH),
        ((b"HTTP/1.0 200 OK\r\n\r\na\n", CLOSE), Failure.RUNNER_CRASH),
        ((b"HTTP/1.1 200 OK\r\nContent-", CLOSE), Failure.RUNNER_CRASH),
        ((b"\x00\xff\x13garbage\r\n\r\n", CLOSE), Failure.SERVER_ERROR),
        ((head() + b"zz\r\n", CLOSE), Failure.SERVER_ERROR),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", CLOSE), Failure.SERVER_ERROR),
        ((HANG,), Failure.TIMEOUT),
        ((head(), HANG), Failure.TIMEOUT),
        ((head() + chunk(b"a\n"), HANG), Failure.TIMEOUT),
        ((whole(b"a\nb\n")[:-2], HANG), Failure.TIMEOUT),
    ],
    ids=[
        "torn between chunks", "torn chunk", "torn size", "torn length", "no length", "no length, 1.0", "torn head",
        "garbage", "garbage size", "negative length", "silent", "silent after the head", "stalled", "stalled length",
    ],
)  # fmt: skip
def test_each_fault_raises_its_failure(faulty: Faulty, steps: tuple[bytes, ...], failure: Failure) -> None:
    faulty.respond(*steps)
    error = catch_failure(Http(faulty.host, OLLAMA, SILENT if HANG in steps else PATIENT))
    assert error.failure is failure
    phase = "stall" if head() in b"".join(steps) or b"a\n" in b"".join(steps) else "first_token"
    assert failure is not Failure.TIMEOUT or f"the {phase} deadline of 0.1 s" in error.what
    assert len(faulty.requests) == 1


def test_a_dripping_server_does_not_outlast_the_deadline(faulty: Faulty) -> None:
    faulty.drip, faulty.drip_seconds = chunk(b" \n"), 0.01
    faulty.respond(head(), DRIP)
    error = catch_failure(Http(faulty.host, OLLAMA, DRIPPING))
    assert (error.failure, error.what) == (Failure.TIMEOUT, "the total deadline of 0.15 s passed")


@pytest.mark.parametrize("steps", [(HANG,), (head() + chunk(b"a\n"), HANG)], ids=["before the head", "in the body"])
@pytest.mark.parametrize("by", ["close", "cancel"])
def test_closing_or_cancelling_ends_a_request(
    faulty: Faulty, steps: tuple[bytes, ...], by: str, in_thread: InThread
) -> None:
    http, token = Http(faulty.host, OLLAMA), CancelToken()
    faulty.respond(*steps)

    def call() -> object:
        with token.scope():
            return request_lines(http)

    result = in_thread(call)
    faulty.reached_hang.wait()
    {"close": http.close, "cancel": token.cancel}[by]()
    with pytest.raises(CallError) as caught:
        result()
    assert caught.value.failure is Failure.INTERRUPTED
    http.close()
    with pytest.raises(CallError) as later:
        request_lines(http)
    assert later.value.failure is Failure.INTERRUPTED


# Limits


def test_a_flood_is_cut_off(faulty: Faulty) -> None:
    faulty.drip, faulty.drip_seconds = chunk(b"a" * 2**16), 0.0
    faulty.respond(head(), DRIP)
    error = catch_failure(Http(faulty.host, OLLAMA))
    assert error.failure is Failure.SERVER_ERROR
    assert "too long" in error.what


# Descriptions of hosts


OPENAI = ("/v1/models", "/version", "/v1/chat/completions")


def ask_at(path: str, host: str) -> object:
    """Makes a call that requests `path`."""
    with closing(OllamaHost(host)) as server:
        openai = OpenAI(host=host, model="m", dialect="vllm", load={"num_ctx": 512})
        asks: dict[str, Callable[[], object]] = {
            "/api/embed": lambda: server.embed("m", ["a"]),
            "/api/ps": lambda: server.find_loaded("m"),
            "/api/chat": lambda: Ollama(host=host, model="m", load={"num_ctx": 512}).complete(HELLO),
            "/v1/chat/completions": lambda: openai.complete(HELLO),
            **dict.fromkeys(("/v1/models", "/version"), openai.describe),
        }
        return asks.get(path, lambda: server.describe("m", {}))()


SHAPES = [b"[1, 2]", b"null", b"[" * 60_000, b"1" * 5_000, b"\xff", b""]


@pytest.mark.parametrize(
    "path", ["/api/version", "/api/tags", "/api/show", "/api/embed", "/api/ps", "/api/chat", *OPENAI]
)
def test_unexpected_json_is_a_server_error(faulty: Faulty, path: str) -> None:
    for shape in SHAPES:
        faulty.respond(whole(shape), path=path)
        with pytest.raises(CallError) as caught:
            ask_at(path, faulty.host)
        assert caught.value.failure is Failure.SERVER_ERROR
        assert len(str(caught.value)) < 1500


# Behaviour that httpx and ollama's client would have


def test_a_key_from_the_environment_is_not_sent(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "hush-hush-1")
    with closing(OllamaHost(faulty.host)) as host:
        host.describe("m", {})
    assert faulty.heads
    assert "hush" not in "".join(faulty.heads)


def test_a_line_ends_with_a_line_feed_alone(faulty: Faulty) -> None:
    text = "one\u0085two\u2028three"
    raw = json.dumps({"message": {"role": "assistant", "content": text}}, ensure_ascii=False).encode()
    faulty.respond(stream(raw + b"\n", LAST))
    with closing(Ollama(host=faulty.host, model="m", load={"num_ctx": 512})) as backend:
        assert backend.complete(HELLO).text == text
