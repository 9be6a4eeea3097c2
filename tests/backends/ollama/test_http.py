"""HTTP: kept connections, faults, limits and deadlines."""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import pytest

from mmerg.backends.cancel import CancelToken
from mmerg.backends.deadlines import Deadlines
from mmerg.backends.http import Http, read_lines, split_address
from mmerg.backends.ollama import Ollama
from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.openai import OpenAI
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.backends.server_errors import OLLAMA
from mmerg.errors import CallError, ConfigError, Failure
from tests.backends.conftest import (
    CLOSE,
    DRIP,
    HANG,
    LAST,
    Faulty,
    chunk,
    head,
    json_response,
    line,
    stream,
    whole,
)

PATIENT = Deadlines(connect=60, first_token=60, stall=60, total=60)
SILENT = replace(PATIENT, first_token=0.1, stall=0.1)  # for servers that say nothing
DRIPPING = replace(PATIENT, total=0.15)  # for those that never end
HELLO = Request((Message("user", "Hello"),), Sampling(num_predict=8))
InThread = Callable[[Callable[[], object]], Callable[[], object]]


@pytest.fixture
def kept(faulty: Faulty) -> Faulty:
    """A server that keeps connections."""
    faulty.keep = True
    return faulty


def request_lines(http: Http, max_bytes: int = 2**26) -> list[bytes]:
    with http.post("/api/chat", {}, max_bytes) as response:
        return list(read_lines(response))


def connect_once(server: Faulty, deadlines: Deadlines = PATIENT) -> Http:
    """A client with a kept connection, which has served a request."""
    http = Http(server.host, OLLAMA, PATIENT)
    server.respond_once(stream(b"warm\n"))
    assert request_lines(http) == [b"warm"]
    http.deadlines = deadlines
    return http


def catch_failure(http: Http, max_bytes: int = 2**26) -> CallError:
    with closing(http), pytest.raises(CallError) as caught:
        request_lines(http, max_bytes)
    assert caught.value.where == http.host
    assert caught.value.hint
    return caught.value


def test_many_requests_use_one_connection(kept: Faulty) -> None:
    kept.respond(stream(line("hi"), LAST))
    with closing(Ollama(host=kept.host, model="m", load={"num_ctx": 512})) as backend:
        backend.describe()
        assert [backend.complete(HELLO).text for _ in range(6)] == ["hi"] * 6
    assert len(kept.requests) == 3 + 6 * 3
    assert kept.connections == 1


def test_a_completion_is_valid_though_its_stream_does_not_end(kept: Faulty) -> None:
    kept.respond(head() + chunk(line("hi")) + chunk(LAST), HANG)
    with closing(Ollama(host=kept.host, model="m", load={"num_ctx": 512})) as backend:
        assert backend.complete(HELLO).text == "hi"
        kept.respond(stream(line("again"), LAST))
        assert backend.complete(HELLO).text == "again"
    assert kept.connections == 2


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
def test_each_fault_raises_its_failure(kept: Faulty, steps: tuple[bytes, ...], failure: Failure) -> None:
    http = connect_once(kept, SILENT if HANG in steps else PATIENT)
    kept.respond(*steps)
    before = len(kept.requests)
    error = catch_failure(http)
    assert error.failure is failure
    phase = "stall" if b"a\n" in b"".join(steps) else "first_token"
    assert failure is not Failure.TIMEOUT or f"the {phase} deadline of 0.1 s" in error.what
    assert HANG not in steps or kept.reached_hang.wait(60)
    assert len(kept.requests) == before + 1
    assert kept.connections == 1


@pytest.mark.parametrize(
    ("start", "drip"),
    [
        (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (head(), chunk(b" \n")),
        (head(), b"0"),
    ],
    ids=["head", "100 Continue", "blank lines", "a chunk's size"],
)
def test_a_dripping_server_does_not_outlast_the_deadline(kept: Faulty, start: bytes, drip: bytes) -> None:
    http = connect_once(kept, DRIPPING)
    kept.drip, kept.drip_seconds = drip, 0.01
    kept.respond(start, DRIP)
    error = catch_failure(http)
    assert error.failure in {Failure.TIMEOUT, Failure.SERVER_ERROR}
    assert error.failure is Failure.TIMEOUT or drip == b"0", "a size of too many digits is no size"


@pytest.mark.parametrize("steps", [(HANG,), (head() + chunk(b"a\n"), HANG)], ids=["before the head", "in the body"])
@pytest.mark.parametrize("by", ["close", "cancel"])
def test_closing_or_cancelling_ends_a_request(
    kept: Faulty, steps: tuple[bytes, ...], by: str, in_thread: InThread
) -> None:
    http, token = connect_once(kept, Deadlines()), CancelToken()
    kept.respond(*steps)

    def call() -> object:
        with token.scope():
            return request_lines(http)

    result = in_thread(call)
    kept.reached_hang.wait()
    {"close": http.close, "cancel": token.cancel}[by]()
    with pytest.raises(CallError) as caught:
        result()
    assert caught.value.failure is Failure.INTERRUPTED
    http.close()
    with pytest.raises(CallError) as later:
        request_lines(http)
    assert later.value.failure is Failure.INTERRUPTED


def test_a_kept_connection_that_turns_out_dead_is_replaced_once(kept: Faulty) -> None:
    http = connect_once(kept)
    kept.respond_once(CLOSE)
    kept.respond(stream(b"a\n"))
    assert request_lines(http) == [b"a"]
    kept.respond(CLOSE)
    assert catch_failure(http).failure is Failure.RUNNER_CRASH
    assert (kept.connections, len(kept.requests)) == (3, 5)


def test_a_second_response_is_not_the_completion_of_the_next_request(kept: Faulty) -> None:
    kept.respond(stream(b"one\n") + stream(b"of another request\n"))
    with closing(Http(kept.host, OLLAMA, PATIENT)) as http:
        assert request_lines(http) == [b"one"]
        kept.respond(stream(b"two\n"))
        assert [request_lines(http) for _ in range(3)] == [[b"two"]] * 3


# Limits


@pytest.mark.parametrize(
    ("start", "drip", "room"),
    [
        (head(), chunk(b"a line\n" * 2**13), 2**20),
        (head(), chunk(b"a" * 2**16), 2**26),
        (b"HTTP/1.1 200 OK\r\n", b"X-Flood: " + b"a" * 2**14 + b"\r\n", 2**26),
        (b"", b"HTTP/1.1 100 Continue\r\nX-Flood: " + b"a" * 2**14 + b"\r\n\r\n", 2**26),
    ],
    ids=["endless lines", "an endless line", "an endless head", "endless 100 Continue"],
)
def test_a_flood_is_cut_off(kept: Faulty, start: bytes, drip: bytes, room: int) -> None:
    kept.drip, kept.drip_seconds = drip, 0.0
    kept.respond(start, DRIP)
    assert catch_failure(Http(kept.host, OLLAMA), room).failure is Failure.SERVER_ERROR


def test_the_size_limit_of_a_response_grows_with_its_tokens(kept: Faulty) -> None:
    flood = line("x" * 2000)
    kept.drip, kept.drip_seconds = chunk(flood), 0.0
    kept.respond(head(), DRIP)
    with closing(Ollama(host=kept.host, model="m", load={"num_ctx": 512})) as backend:
        with pytest.raises(CallError, match="too long") as caught:
            backend.complete(HELLO)
        assert caught.value.failure is Failure.SERVER_ERROR
        kept.respond(stream(*[flood] * 200, LAST))
        assert len(backend.complete(HELLO).text) == 400_000


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
def test_unexpected_json_is_a_server_error(kept: Faulty, path: str) -> None:
    for shape in SHAPES:
        kept.respond(whole(shape), path=path)
        with pytest.raises(CallError) as caught:
            ask_at(path, kept.host)
        assert caught.value.failure is Failure.SERVER_ERROR
        assert len(str(caught.value)) < 1500


def test_a_completion_survives_if_the_host_is_busy_during_the_check(kept: Faulty) -> None:
    with closing(Ollama(host=kept.host, model="m", load={"num_ctx": 512}, check_wait=0.01)) as backend:
        backend.describe()
        kept.respond(stream(line("hi"), LAST))
        kept.respond_once(json_response({"error": "busy"}, "503 Service Unavailable"), path="/api/version")
        kept.respond_once(CLOSE, path="/api/tags")
        kept.respond_once(CLOSE, path="/api/tags")
        assert backend.complete(HELLO).text == "hi"
    assert len(kept.bodies("/api/chat")) == 1


# Addresses


@pytest.mark.parametrize(
    "host", ["http://name:secret@host:1", "https://secret@host", "http://a:secret@b:c@host:x/p", "http://:secret@"]
)
def test_an_address_with_a_password_is_refused_and_not_shown(host: str) -> None:
    with pytest.raises(ConfigError, match="must not contain a user name or password") as caught:
        split_address(host)
    assert "secret" not in str(caught.value)
    with pytest.raises(ConfigError) as described:
        Ollama(host=host, model="m", load={"num_ctx": 512}).describe()
    assert "secret" not in str(described.value)


# Behaviour that httpx and ollama's client would have


def test_a_key_from_the_environment_is_not_sent(kept: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "hush-hush-1")
    with closing(OllamaHost(kept.host)) as host:
        host.describe("m", {})
    assert kept.heads
    assert "hush" not in "".join(kept.heads)


def test_a_line_ends_with_a_line_feed_alone(kept: Faulty) -> None:
    text = "one\u0085two\u2028three"
    raw = json.dumps({"message": {"role": "assistant", "content": text}}, ensure_ascii=False).encode()
    kept.respond(stream(raw + b"\n", LAST))
    with closing(Ollama(host=kept.host, model="m", load={"num_ctx": 512})) as backend:
        assert backend.complete(HELLO).text == text
