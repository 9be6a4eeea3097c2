"""HTTP itself: connections that are kept, every fault on a new and on a used one, caps, and deadlines for all."""

import gzip
import json
import select
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace

import pytest

from mmerg.backends.http import Deadlines, Http, lines, split_address
from mmerg.backends.ollama import Ollama
from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.openai import OpenAI
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.backends.server_errors import OLLAMA
from mmerg.backends.stop import Stop
from mmerg.errors import CallError, ConfigError, Failure
from tests.backends.conftest import (
    CLOSE,
    DRIP,
    HANG,
    LAST,
    Faulty,
    chunk,
    head,
    json_answer,
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
    """A server that keeps its connections."""
    faulty.keep = True
    return faulty


def lines_of(http: Http, most: int = 2**26) -> list[bytes]:
    with http.post("/api/chat", {}, most) as response:
        return list(lines(response))


def used(server: Faulty, deadlines: Deadlines = PATIENT) -> Http:
    """A client with one connection, over which one request went, in its own time."""
    http = Http(server.host, OLLAMA, PATIENT)
    server.answer_once(stream(b"warm\n"))
    assert lines_of(http) == [b"warm"]
    http.deadlines = deadlines
    return http


def new(server: Faulty, deadlines: Deadlines = PATIENT) -> Http:
    return Http(server.host, OLLAMA, deadlines)


def failure_of(http: Http, most: int = 2**26) -> CallError:
    with closing(http), pytest.raises(CallError) as caught:
        lines_of(http, most)
    assert caught.value.where == http.host
    assert caught.value.hint
    return caught.value


def test_many_requests_take_one_connection(kept: Faulty) -> None:
    kept.answer(stream(line("hi"), LAST))
    with closing(Ollama(host=kept.host, model="m", load={"num_ctx": 512})) as backend:
        backend.describe()
        assert [backend.complete(HELLO).text for _ in range(6)] == ["hi"] * 6
    assert len(kept.requests) == 3 + 6 * 3
    assert kept.connections == 1


def test_threads_share_connections_and_get_their_own_answers(kept: Faulty) -> None:
    for number in range(8):
        kept.answer(stream(*[b"%d\n" % number] * 50), path=f"/{number}")

    def ask(number: int) -> set[bytes]:
        with http.post(f"/{number % 8}", {}) as response:
            return set(lines(response))

    with closing(Http(kept.host, OLLAMA)) as http, ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(160))) == [{b"%d" % (number % 8)} for number in range(160)]
    assert kept.connections <= 8


def test_a_reply_counts_though_its_stream_never_ends_after_the_last_line(kept: Faulty) -> None:
    kept.answer(head() + chunk(line("hi")) + chunk(LAST), HANG)
    with closing(Ollama(host=kept.host, model="m", load={"num_ctx": 512})) as backend:
        assert backend.complete(HELLO).text == "hi"
        kept.answer(stream(line("again"), LAST))
        assert backend.complete(HELLO).text == "again"
    assert kept.connections == 2


@pytest.mark.parametrize("begin", [new, used])
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
def test_every_fault_is_named_on_a_new_connection_and_on_a_used_one(
    kept: Faulty, begin: Callable[[Faulty, Deadlines], Http], steps: tuple[bytes, ...], failure: Failure
) -> None:
    http = begin(kept, SILENT if HANG in steps else PATIENT)
    kept.answer(*steps)
    before = len(kept.requests)
    assert failure_of(http).failure is failure
    assert HANG not in steps or kept.reached_hang.wait(60)
    assert len(kept.requests) == before + 1, "what was answered in part is not asked again"
    assert kept.connections == 1


@pytest.mark.parametrize("begin", [new, used])
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
def test_a_dripping_server_does_not_outlast_the_deadline(
    kept: Faulty, begin: Callable[[Faulty, Deadlines], Http], start: bytes, drip: bytes
) -> None:
    http = begin(kept, DRIPPING)
    kept.drip, kept.drip_seconds = drip, 0.01
    kept.answer(start, DRIP)
    error = failure_of(http)
    assert error.failure in {Failure.TIMEOUT, Failure.SERVER_ERROR}
    assert error.failure is Failure.TIMEOUT or drip == b"0", "a size of too many digits is no size"


@pytest.mark.parametrize("begin", [new, used])
@pytest.mark.parametrize("steps", [(HANG,), (head() + chunk(b"a\n"), HANG)], ids=["before the head", "in the body"])
def test_closing_breaks_a_request_off(
    kept: Faulty, begin: Callable[[Faulty, Deadlines], Http], steps: tuple[bytes, ...], in_thread: InThread
) -> None:
    http = begin(kept, Deadlines())
    kept.answer(*steps)
    result = in_thread(lambda: lines_of(http))
    kept.reached_hang.wait()
    http.close()
    with pytest.raises(CallError) as caught:
        result()
    assert caught.value.failure is Failure.INTERRUPTED
    with pytest.raises(CallError) as later:
        lines_of(http)
    assert later.value.failure is Failure.INTERRUPTED


# Connections that died, or went wrong, while nobody used them


def test_an_idle_connection_that_the_server_closed_is_replaced_unseen(faulty: Faulty) -> None:
    faulty.answer(stream(b"a\n"))  # the server closes after each answer, and does not say so
    with closing(new(faulty)) as http:
        assert [lines_of(http) for _ in range(20)] == [[b"a"]] * 20
    assert faulty.connections == 20


def test_a_used_connection_that_dies_as_it_is_asked_is_replaced_once(kept: Faulty) -> None:
    with closing(used(kept)) as http:
        kept.answer_once(CLOSE)
        kept.answer(stream(b"a\n"))
        assert lines_of(http) == [b"a"]
        assert kept.connections == 2
        kept.answer(CLOSE)
        with pytest.raises(CallError) as caught:
            lines_of(http)
    assert caught.value.failure is Failure.RUNNER_CRASH
    assert (kept.connections, len(kept.requests)) == (3, 5)


def test_a_new_connection_that_dies_is_not_replaced(kept: Faulty) -> None:
    kept.answer(CLOSE)
    assert failure_of(new(kept)).failure is Failure.RUNNER_CRASH
    assert kept.connections == 1


def test_a_server_that_went_away_is_unreachable_on_a_used_connection_too(kept: Faulty) -> None:
    http = used(kept)
    kept.answer(CLOSE)
    kept.shutdown()
    kept.server_close()
    assert failure_of(http).failure is Failure.UNREACHABLE


def test_what_nobody_asked_for_is_not_taken_for_the_next_answer(kept: Faulty) -> None:
    kept.answer(stream(b"one\n") + stream(b"of another request\n"))
    with closing(new(kept)) as http:
        assert lines_of(http) == [b"one"]
        kept.answer(stream(b"two\n"))
        for _ in range(3):
            assert lines_of(http) == [b"two"]


# Caps


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
    kept.answer(start, DRIP)
    assert failure_of(new(kept, Deadlines()), room).failure is Failure.SERVER_ERROR


def test_the_reply_of_a_model_has_room_for_its_tokens(kept: Faulty) -> None:
    flood = line("x" * 2000)
    kept.drip, kept.drip_seconds = chunk(flood), 0.0
    kept.answer(head(), DRIP)
    with closing(Ollama(host=kept.host, model="m", load={"num_ctx": 512})) as backend:
        with pytest.raises(CallError, match="too long") as caught:
            backend.complete(HELLO)
        assert caught.value.failure is Failure.SERVER_ERROR
        kept.answer(stream(*[flood] * 200, LAST))
        assert len(backend.complete(HELLO).text) == 400_000


# What a host says about itself


@pytest.mark.parametrize("path", ["/api/version", "/api/tags", "/api/show", "/api/embed"])
@pytest.mark.parametrize("drip", [b"a", b"HTTP/1.1 100 Continue\r\n\r\n"], ids=["head", "100 Continue"])
def test_a_dripping_host_does_not_hold_up_its_description(kept: Faulty, path: str, drip: bytes) -> None:
    kept.drip, kept.drip_seconds = drip, 0.01
    kept.answer(b"HTTP/1.1 200 OK\r\nX-Slow: " if drip == b"a" else b"", DRIP, path=path)
    with closing(OllamaHost(kept.host, replace(SILENT, total=0.1))) as host, pytest.raises(CallError) as caught:
        host.embed("m", ["a"]) if path == "/api/embed" else host.describe("m", {})
    assert caught.value.failure is Failure.TIMEOUT


OPENAI = ("/v1/models", "/version", "/v1/chat/completions")


def ask_at(path: str, host: str) -> object:
    """Something that asks at `path`."""
    with closing(OllamaHost(host)) as server:
        openai = OpenAI(host=host, model="m", dialect="vllm", load={"num_ctx": 512})
        asks: dict[str, Callable[[], object]] = {
            "/api/embed": lambda: server.embed("m", ["a"]),
            "/api/ps": lambda: server.loaded("m"),
            "/api/chat": lambda: Ollama(host=host, model="m", load={"num_ctx": 512}).complete(HELLO),
            "/v1/chat/completions": lambda: openai.complete(HELLO),
            **dict.fromkeys(("/v1/models", "/version"), openai.describe),
        }
        return asks.get(path, lambda: server.describe("m", {}))()


SHAPES = [b"[1, 2]", b"3", b'"no"', b"null", b"[" * 60_000, b'{"a":' * 60_000, b"1" * 5_000, b"\xff", b"", b"NaN"]


@pytest.mark.parametrize(
    "path", ["/api/version", "/api/tags", "/api/show", "/api/embed", "/api/ps", "/api/chat", *OPENAI]
)
def test_json_of_any_shape_is_a_named_failure(kept: Faulty, path: str) -> None:
    for shape in SHAPES:
        for status in ("200 OK", "500 Oh"):
            kept.answer(whole(shape, status), path=path)
            with pytest.raises(CallError) as caught:
                ask_at(path, kept.host)
            assert caught.value.failure is Failure.SERVER_ERROR
            assert len(str(caught.value)) < 1500


@pytest.mark.parametrize("length", ["1e999", '"many"', "-1", "1.5", "[]", "true", "9" * 30])
def test_a_context_length_that_is_none_is_named(kept: Faulty, length: str) -> None:
    details = '{"capabilities": [], "model_info": {"general.architecture": "a", "a.context_length": ' + length + "}}"
    kept.answer(whole(details.encode()), path="/api/show")
    with closing(OllamaHost(kept.host)) as host, pytest.raises(CallError) as caught:
        host.describe("m", {})
    assert caught.value.failure is Failure.SERVER_ERROR


@pytest.mark.parametrize("vectors", [[], [[]], [[1e999]], [[1.0], [1.0, 2.0]], [[1.0], [1.0], [1.0]]])
def test_vectors_that_are_no_use_are_named(kept: Faulty, vectors: object) -> None:
    kept.answer(json_answer({"embeddings": vectors}), path="/api/embed")
    with closing(OllamaHost(kept.host)) as host, pytest.raises(CallError) as caught:
        host.embed("m", ["a", "b"][: max(len(vectors), 1)] if isinstance(vectors, list) else [])  # fmt: skip
    assert caught.value.failure is Failure.SERVER_ERROR


def test_a_host_that_is_busy_when_it_is_checked_costs_no_reply(kept: Faulty) -> None:
    with closing(Ollama(host=kept.host, model="m", load={"num_ctx": 512}, check_wait=0.01)) as backend:
        backend.describe()
        kept.answer(stream(line("hi"), LAST))
        kept.answer_once(json_answer({"error": "busy"}, "503 Service Unavailable"), path="/api/version")
        kept.answer_once(CLOSE, path="/api/tags")
        kept.answer_once(CLOSE, path="/api/tags")
        assert backend.complete(HELLO).text == "hi"
    assert len(kept.asked("/api/chat")) == 1


# Addresses


@pytest.mark.parametrize(
    "host", ["http://name:secret@host:1", "https://secret@host", "http://a:secret@b:c@host:x/p", "http://:secret@"]
)
def test_an_address_with_a_password_is_refused_and_not_shown(host: str) -> None:
    with pytest.raises(ConfigError, match="no user name or password") as caught:
        split_address(host)
    assert "secret" not in str(caught.value)
    with pytest.raises(ConfigError) as described:
        Ollama(host=host, model="m", load={"num_ctx": 512}).describe()
    assert "secret" not in str(described.value)


def test_the_address_of_a_server_behind_a_path(kept: Faulty) -> None:
    kept.answer(json_answer({"version": "1"}), path="/behind/api/version")
    with closing(Http(f"{kept.host}/behind/", OLLAMA, PATIENT)) as http:
        assert http.read(json.loads, "/api/version") == {"version": "1"}


# What httpx and ollama's client would do by themselves


def test_a_line_ends_with_a_line_feed_alone(kept: Faulty) -> None:
    text = "one\u0085two\u2028three"
    raw = json.dumps({"message": {"role": "assistant", "content": text}}, ensure_ascii=False).encode()
    kept.answer(stream(raw + b"\n", LAST))
    with closing(Ollama(host=kept.host, model="m", load={"num_ctx": 512})) as backend:
        assert backend.complete(HELLO).text == text


def test_a_body_that_grows_when_it_is_unpacked_is_not_unpacked(kept: Faulty) -> None:
    packed = gzip.compress(b"[" + b" " * 2**20 + b"]")
    head_of_it = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    kept.answer(head_of_it.encode() + packed, path="/api/version")
    with closing(new(kept)) as http:
        assert http.read(bytes, "/api/version") == packed
    assert "gzip" not in "".join(kept.heads)


def test_a_key_for_another_service_is_not_sent(kept: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "hush-hush-1")
    with closing(OllamaHost(kept.host)) as host:
        host.describe("m", {})
    assert "hush" not in "".join(kept.heads)


# A stop, wherever the call stands


def stopped(http: Http, reached: Callable[[], object], in_thread: InThread) -> Failure:
    """How a call ends whose thread is stopped once it has `reached` a place."""
    stop = Stop()

    def call() -> object:
        with stop.over_this_thread():
            return lines_of(http)

    result = in_thread(call)
    reached()
    stop.set()
    with pytest.raises(CallError) as caught:
        result()
    return caught.value.failure


def test_a_stop_ends_a_call_that_waits_for_a_handshake(in_thread: InThread) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"https://127.0.0.1:{silent.getsockname()[1]}"
        accepted = list[socket.socket]()
        with closing(Http(host, OLLAMA, PATIENT)) as http:
            failure = stopped(http, lambda: accepted.append(silent.accept()[0]), in_thread)
        accepted[0].close()
    assert failure is Failure.INTERRUPTED


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="fills a queue of connections as Linux counts it")
def test_a_stop_ends_a_call_that_waits_for_a_connection(in_thread: InThread) -> None:
    with ExitStack() as opened:
        full = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        connected = True
        while connected:  # until the queue is full
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
            connected = bool(select.select([], [waiting], [], 0.2)[1])
        http = opened.enter_context(closing(Http(f"http://127.0.0.1:{full.getsockname()[1]}", OLLAMA, PATIENT)))
        assert stopped(http, lambda: threading.Event().wait(0.2), in_thread) is Failure.INTERRUPTED


def test_a_stop_ends_a_call_that_sends(in_thread: InThread) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as deaf,
        closing(Http(f"http://127.0.0.1:{deaf.getsockname()[1]}", OLLAMA, PATIENT)) as http,
    ):
        stop = Stop()

        def call() -> object:
            with stop.over_this_thread(), http.post("/api/chat", "x" * 2**25):
                return None

        result = in_thread(call)
        with deaf.accept()[0] as connection:
            connection.recv(1)
            stop.set()
            with pytest.raises(CallError) as caught:
                result()
    assert caught.value.failure is Failure.INTERRUPTED
