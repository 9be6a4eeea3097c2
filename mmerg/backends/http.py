"""HTTP to one server: kept-alive connections, deadlines that hold, caps on what is read, and calls that can be aborted.

It stands on httpcore, the transport inside httpx, over a socket whose every read and write gets only the time that is
left. So no silent, dripping or stalled server outlasts a deadline, be it in the head or in the body. A body that is
torn is told from one that ends. An idle connection that the server has closed is replaced once, unseen. Every failure
is a `CallError`. Knows nothing of what is asked, follows no redirect, asks no proxy, and does not retry.

    http = Http("http://127.0.0.1:11434", Deadlines())
    with http.ask("POST", "/api/chat", b'{"model": "m"}') as answer:
        for line in answer.lines(): ...
    http.close()
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

import httpcore

from mmerg.errors import CallError, ConfigError, Failure

HEAD_BYTES = 2**20  # of a head, with the interim ones before it
LINE_BYTES = 2**24
BODY_BYTES = 2**26  # of an answer, where the caller names no other limit
ERROR_BYTES = 2**16  # of an error's text
HELD_BYTES = 2**16  # of a request before it is sent
LONGEST = 10**8  # seconds that a socket can wait
DRAIN_SECONDS = 0.2  # for the end of a body whose last line was read; then its connection can be used again
TOO_LONG = "the answer, or a line of it, is too long"
FAULTS = (OSError, httpcore.ProtocolError)  # what can go wrong with a request that is under way
ORIGIN = httpcore.Origin(b"http", b"server", 80)  # httpcore's name for the other side; we connect by ourselves
START = "start it with `ollama serve`, or name the right one with backend.hosts=[http://HOST:11434]"

Found = TypeVar("Found")


@dataclass(frozen=True)
class Deadlines:
    """Seconds: to connect; from the request to the first line (the server's queue and the prompt's evaluation count);
    between two lines; and for the whole call."""

    connect: float = 5.0
    first_token: float = 300.0
    stall: float = 60.0
    total: float = 600.0


class _Wire(httpcore.NetworkStream):
    """A connected socket that may be read and written until `until` (monotonic clock), no longer.

    received: bytes read since the request began, of which there may be `room`. ended: the server closed its side.
    """

    def __init__(self, connected: socket.socket) -> None:
        self.http = httpcore.HTTP11Connection(ORIGIN, self)
        self.until = 0.0
        self.received = self.room = 0
        self.ended = False
        self._socket = connected
        self._unsent = bytearray()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        self._send()
        self._allow_what_is_left()
        data = self._socket.recv(max_bytes)
        self.received += len(data)
        self.ended = not data
        if self.received > self.room:
            raise httpcore.RemoteProtocolError(TOO_LONG)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._unsent += buffer  # so that head and body go out as one
        if len(self._unsent) > HELD_BYTES:
            self._send()

    def _send(self) -> None:
        rest, self._unsent = memoryview(self._unsent), bytearray()
        while rest:
            self._allow_what_is_left()
            try:
                rest = rest[self._socket.send(rest) :]
            except TimeoutError:
                raise
            except OSError:  # the server takes no more, and may have said why
                return

    def quiet(self) -> bool:
        """Whether an idle connection is still there: the server neither hung up nor said what nobody asked for."""
        self._socket.settimeout(0)
        try:
            socket.socket.recv(self._socket, 1, socket.MSG_PEEK)  # ssl's own takes no flags
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        self._socket.close()

    def shut(self) -> None:
        """End both directions from any thread; a read that waits returns. The plain socket's own shutdown, because
        ssl's would pull the session away from under the reading thread."""
        with suppress(OSError):  # the server was quicker
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _allow_what_is_left(self) -> None:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(min(left, LONGEST))


class Answer:
    """A request and its answer, the head of which has come. `abort` may be called from any thread, all else by one.

    status, kind: the answer's status and media type.
    """

    def __init__(self, http: Http, total: str) -> None:
        self.status, self.kind = 0, ""
        self._http = http
        self._wire: _Wire | None = None
        self._response: httpcore.Response | None = None
        self._parts: Iterator[bytes] = iter(())
        self._aborted = False
        self._phase = self._total = total
        self._end = time.monotonic() + getattr(http.deadlines, total)

    def lines(self) -> Iterator[bytes]:
        """The lines of the body that are not blank. Ends where the body ends whole; a torn body is a CallError."""
        rest = bytearray()
        for part in self._read():
            rest += part
            if b"\n" in part:
                *whole, last = bytes(rest).split(b"\n")
                rest = bytearray(last)
                self._enter("stall")
                yield from (line for line in whole if line.strip())
            if len(rest) > LINE_BYTES:
                raise self._failure(httpcore.RemoteProtocolError(TOO_LONG))
        if rest.strip():
            yield bytes(rest)

    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self._read())

    def text(self) -> str:
        """The body of an error as text, cut at 64 KiB."""
        body = b""
        for part in self._read():
            body += part
            if len(body) >= ERROR_BYTES:
                break
        return body[:ERROR_BYTES].decode(errors="replace")

    def abort(self) -> None:
        """Break it off: whoever waits in it gets CallError interrupted."""
        self._aborted = True
        if self._wire:
            self._wire.shut()

    def send(self, request: Callable[[], httpcore.Request], first: str, room: int) -> None:
        """Send it and wait for the head; where an idle connection turns out to be dead, once more on a new one."""
        if idle := self._http.idle():
            try:
                response = self._attempt(idle, request(), first)
            except CallError as error:
                if idle.received or error.failure is not Failure.RUNNER_CRASH:
                    raise
                idle.close()
                idle = None
        if not idle:
            try:
                wire = self._http.connect(self._end - time.monotonic())
            except CallError:
                self._refuse_aborted()
                raise
            response = self._attempt(wire, request(), first)
        assert self._wire
        self._wire.room = self._wire.received + room
        fields = {name.lower(): value for name, value in response.headers}
        self.status = response.status
        self.kind = fields.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
        self._response, self._parts = response, iter(response.iter_stream())
        if self.status == 200 and not fields.keys() & {b"content-length", b"transfer-encoding"}:
            raise self._failure(OSError("it does not say how long it is"))

    def finish(self, whole: bool) -> None:
        """Let go of the connection. It serves again where the body was read to its end, or nearly so."""
        if self._wire:
            if whole and self._response:
                self._wire.until = min(self._wire.until, time.monotonic() + DRAIN_SECONDS)
                with suppress(*FAULTS):
                    for _ in self._parts:
                        pass
                    self._response.close()
            self._http.give_back(self._wire)

    def _attempt(self, wire: _Wire, request: httpcore.Request, first: str) -> httpcore.Response:
        self._wire = wire
        wire.received, wire.room = 0, HEAD_BYTES
        self._enter(first)
        response = self._named(lambda: wire.http.handle_request(request))
        if not wire.received:  # it came with the answer before, so it is not of this request
            raise self._failure(OSError("the connection is out of step"))
        return response

    def _read(self) -> Iterator[bytes]:
        while part := self._named(lambda: next(self._parts, b"")):
            yield part

    def _enter(self, phase: str) -> None:
        assert self._wire
        self._phase = phase
        self._wire.until = min(time.monotonic() + getattr(self._http.deadlines, phase), self._end)

    def _named(self, step: Callable[[], Found]) -> Found:
        """What `step` gives. Raises CallError for what goes wrong in it, and where this was aborted."""
        self._refuse_aborted()
        try:
            found = step()
        except FAULTS as error:
            raise self._failure(error) from error
        self._refuse_aborted()
        return found

    def _refuse_aborted(self) -> None:
        if self._aborted:
            raise interrupted(self._http.where)

    def _failure(self, error: Exception) -> CallError:
        assert self._wire
        where = self._http.where
        if self._aborted:
            return interrupted(where)
        if isinstance(error, TimeoutError):
            phase = self._total if time.monotonic() >= self._end else self._phase
            what = f"the {phase} deadline of {getattr(self._http.deadlines, phase):g} s passed"
            hint = f"raise {self._http.option}{phase}, lower num_predict, or send fewer calls at once: waiting in the "
            hint += "server's queue counts"
            return CallError(Failure.TIMEOUT, what, where=where, hint=hint)
        if isinstance(error, OSError) or self._wire.ended:
            hint = "see the server's log; it, or a proxy before it, died or hung up in mid-answer"
            return CallError(Failure.RUNNER_CRASH, f"the answer broke off: {error}", where=where, hint=hint)
        hint = f"check that the host's address and scheme are those of the {self._http.server}"
        return CallError(Failure.SERVER_ERROR, f"this is no answer: {error}"[:200], where=where, hint=hint)


class Http:
    """Requests to the server at `address`, from any thread, over connections that are kept. `uds`: the Unix socket on
    which the server listens. For errors: server, where and start say what it is called, where it is, and what to do if
    it does not answer; option is what the deadlines' names follow in the settings."""

    def __init__(
        self,
        address: str,
        deadlines: Deadlines,
        *,
        uds: str = "",
        headers: Mapping[str, str] | None = None,
        server: str = "Ollama server",
        where: str = "",
        start: str = START,
        option: str = "backend.adapter.deadlines.",
    ) -> None:
        self.address, self.deadlines, self.server = address, deadlines, server
        self.where, self.option = where or address, option
        self._start, self._uds = start, uds
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._idle: list[_Wire] = []
        self._busy: set[Answer] = set()
        self._closed = False
        self._lock = threading.Lock()
        self._trusted: ssl.SSLContext | None = None

    @contextmanager
    def ask(
        self,
        method: str,
        path: str,
        content: bytes | Path = b"",
        *,
        first: str = "first_token",
        total: str = "total",
        room: int = BODY_BYTES,
    ) -> Iterator[Answer]:
        """The answer, for as long as the block runs. `content`: the body, or a file that holds it.

        first, total: which deadline holds until the first line, and which for the whole. room: how many bytes the
        answer may have. Raises CallError: unreachable, timeout, runner_crash (the answer broke off), server_error (it
        is no HTTP, or too long), interrupted (by `close`), and ConfigError where the address is none.
        """
        address = split_host(self.address)
        headers = {"Host": address.netloc, **self._headers}
        if method == "POST":
            headers["Content-Length"] = str(content.stat().st_size if isinstance(content, Path) else len(content))
        target = f"{address.path.rstrip('/')}{path}".encode()
        url = httpcore.URL(scheme=ORIGIN.scheme, host=ORIGIN.host, port=ORIGIN.port, target=target)

        def request() -> httpcore.Request:
            body = parts_of(content) if isinstance(content, Path) else content
            return httpcore.Request(method, url, headers=list(headers.items()), content=body)

        answer = Answer(self, total)
        with self._lock:
            if self._closed:
                raise interrupted(self.where)
            self._busy.add(answer)
        whole = False
        try:
            answer.send(request, first, room)
            yield answer
            whole = True
        finally:
            with self._lock:
                self._busy.discard(answer)
            answer.finish(whole)

    def close(self) -> None:
        """Refuse new requests, break off those in flight, and close the connections."""
        with self._lock:
            self._closed = True
            busy, idle, self._idle = tuple(self._busy), self._idle, []
        for answer in busy:
            answer.abort()
        for wire in idle:
            wire.close()

    def __del__(self) -> None:
        self.close()

    def idle(self) -> _Wire | None:
        """A connection that was used before and seems to be alive."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                wire = self._idle.pop()
            if wire.quiet():
                return wire
            wire.close()

    def connect(self, left: float) -> _Wire:
        """A new connection, within `left` seconds or its deadline. Raises CallError unreachable."""
        address, connected = split_host(self.address), None
        secure = address.scheme == "https"
        patience = max(min(self.deadlines.connect, left, LONGEST), 0.001)
        try:
            if self._uds:
                connected = socket.socket(socket.AF_UNIX)
                connected.settimeout(patience)
                connected.connect(self._uds)
            else:
                port = address.port or (443 if secure else 80)
                connected = socket.create_connection((address.hostname, port), patience)
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if secure:
                self._trusted = self._trusted or ssl.create_default_context()
                connected = self._trusted.wrap_socket(connected, server_hostname=address.hostname)
        except (OSError, UnicodeError) as error:  # refused, no such name, no route, a certificate, or the deadline
            if connected:
                connected.close()
            why = f"no connection within {patience:g} s" if isinstance(error, TimeoutError) else str(error)
            what = f"no {self.server} answers: {why}"
            raise CallError(Failure.UNREACHABLE, what, where=self.where, hint=self._start) from error
        return _Wire(connected)

    def give_back(self, wire: _Wire) -> None:
        """Keep the connection for the next request, or close it where it cannot serve another."""
        with self._lock:
            keep = wire.http.is_idle() and not self._closed
            if keep:
                self._idle.append(wire)
        if not keep:
            wire.close()


def split_host(host: str) -> SplitResult:
    """`host` as the address of a server: http or https, a name, maybe a port and a path in front of /api.

    Raises ConfigError, which shows no password, where it is not, or holds a user's name: those would end up in files.
    """
    hint = "write it like http://127.0.0.1:11434"
    shown = repr(host)
    if "@" in host:
        shown = repr(f"{host.partition('//')[0]}//***@{host.rpartition('@')[2]}")
        what = "a host's address may hold no user name or password: it is written into runs, reports and errors"
        hint = f"{hint}; a proxy before the server may know it by its address"
        raise ConfigError(what, where=shown, hint=hint)
    try:
        address = urlsplit(host)
        complete = address.scheme in {"http", "https"} and address.hostname and (address.port or True)
    except ValueError as error:
        raise ConfigError(f"not a host's address: {error}", where=shown, hint=hint) from error
    if not complete or address.query or address.fragment:
        raise ConfigError("not a host's address", where=shown, hint=hint)
    return address


def interrupted(where: str) -> CallError:
    """The backend was closed, before or during the call."""
    return CallError(Failure.INTERRUPTED, "the backend is closed", where=where, hint="run again to take up from here")


def parts_of(file: Path) -> Iterator[bytes]:
    """The bytes of a file, some at a time."""
    with file.open("rb") as opened:
        while part := opened.read(2**20):
            yield part
