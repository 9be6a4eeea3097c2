"""HTTP to one server: kept-alive connections, deadlines that hold, caps on what is read, calls that can be broken off.

httpcore reads and writes through sockets that get only the time that is left: no silent, dripping or stalled server
outlasts a deadline; only the look-up of a host's name can. A body that is torn is told from one that ends. An idle
connection that the server has closed is replaced once, unseen. Every failure is a `CallError`. Follows no redirect,
asks no proxy, and does not retry.

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
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import httpcore

from mmerg.errors import CallError, ConfigError, Failure

HEAD_BYTES = 2**20  # of a head, with the interim ones before it
LINE_BYTES = 2**24
BODY_BYTES = 2**26  # of an answer, where the caller names no other limit
LONGEST = 10**8  # seconds that a socket can wait
DRAIN_SECONDS = 0.2  # for the end of a body whose last line was read; then its connection can be used again
TOO_LONG = "the answer, or a line of it, is too long"
ORIGIN = httpcore.Origin(b"http", b"server", 80)  # httpcore's name for the other side; we connect by ourselves


@dataclass(frozen=True)
class Deadlines:
    """Seconds: to connect; from the request to the first line (the server's queue and the prompt's evaluation count);
    between two lines; and for the whole call."""

    connect: float = 5.0
    first_token: float = 600.0
    stall: float = 120.0
    total: float = 1200.0


class _Wire(httpcore.NetworkStream):
    """A connection that may be read and written until `until` (monotonic clock), no longer. received: bytes read since
    the request began, of which there may be `room`."""

    def __init__(self, http: Http, stream: httpcore.NetworkStream) -> None:
        self.connection = httpcore.HTTP11Connection(ORIGIN, self)
        self.received = self.room = 0
        self.until = self._end = 0.0
        self._http: Http = weakref.proxy(http)  # which holds this one
        self._stream = stream
        self._socket: socket.socket = stream.get_extra_info("socket")
        self._ended = False  # the server closed its side
        self._phase = self._total = ""

    def send(self, request: httpcore.Request, brief: bool, end: float, room: int) -> Answer:
        """Send it and wait for the head of the answer, the whole of which must be there at `end`."""
        self.received, self.room = 0, HEAD_BYTES
        self._end, self._total = end, "stall" if brief else "total"
        self.enter("stall" if brief else "first_token")
        with self.naming():
            response = self.connection.handle_request(request)
        if not self.received:  # it came with the answer before, so it is not of this request
            self.close()
            raise self.failure(OSError("the connection is out of step"))
        self.room = self.received + room
        return Answer(self, response)

    def enter(self, phase: str) -> None:
        """From now on the deadline called `phase` holds."""
        self._phase = phase
        self.until = min(time.monotonic() + getattr(self._http.deadlines, phase), self._end)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        self._allow_what_is_left()
        data = self._socket.recv(max_bytes)
        self.received += len(data)
        self._ended = not data
        if self._http.closed or not self.received:
            raise ConnectionError("the server hung up")
        if self.received > self.room:
            raise httpcore.RemoteProtocolError(TOO_LONG)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._allow_what_is_left()
        try:
            self._socket.sendall(buffer)
        except TimeoutError:
            raise
        except OSError as error:  # the server takes no more, and may have said why: httpcore goes on to read that
            raise httpcore.WriteError from error

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)  # whether it can be read: the server hung up, or spoke unasked

    def close(self) -> None:
        self._socket.close()

    def shut(self) -> None:
        """End both directions from any thread; a read that waits returns."""
        with suppress(OSError):  # the server was quicker
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # ssl's would take the session from under the reader

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Raises CallError for what goes wrong with the request."""
        try:
            yield
        except (OSError, httpcore.ProtocolError) as error:
            raise self.failure(error) from error

    def failure(self, error: Exception) -> CallError:
        """What `error` means for the request."""
        http, where = self._http, self._http.where
        if http.closed:
            return http.interrupted()
        if isinstance(error, TimeoutError):
            phase = self._total if time.monotonic() >= self._end else self._phase
            what = f"the {phase} deadline of {getattr(http.deadlines, phase):g} s passed"
            hint = f"raise {http.option}{phase}, lower num_predict, or send fewer calls at once: waiting in the "
            return CallError(Failure.TIMEOUT, what, where=where, hint=f"{hint}server's queue counts")
        if isinstance(error, OSError) or self._ended:
            hint = "see the server's log; it, or a proxy before it, died or hung up in mid-answer"
            return CallError(Failure.RUNNER_CRASH, f"the answer broke off: {error}", where=where, hint=hint)
        hint = f"check that the host's address and scheme are those of the {http.server}"
        return CallError(Failure.SERVER_ERROR, f"this is no answer: {error}"[:200], where=where, hint=hint)

    def _allow_what_is_left(self) -> None:
        left = self.until - time.monotonic()
        if left <= 0 or self._http.closed:
            raise TimeoutError
        self._socket.settimeout(min(left, LONGEST))


class Answer:
    """An answer whose head has come, for one thread. status, kind: its status and media type."""

    def __init__(self, wire: _Wire, response: httpcore.Response) -> None:
        self.wire, self.response = wire, response
        self.fields = {name.lower(): value for name, value in response.headers}
        self.status = response.status
        self.kind = self.fields.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
        self._parts = iter(response.iter_stream())

    def lines(self) -> Iterator[bytes]:
        """The lines of the body that are not blank. Ends where the body ends whole; a torn body is a CallError."""
        rest = bytearray()
        for part in self.parts():
            rest += part
            if b"\n" in part:
                *whole, last = bytes(rest).split(b"\n")
                rest = bytearray(last)
                self.wire.enter("stall")
                yield from (line for line in whole if line.strip())
            if len(rest) > LINE_BYTES:
                raise self.wire.failure(httpcore.RemoteProtocolError(TOO_LONG))
        if rest.strip():
            yield bytes(rest)

    def body(self) -> bytes:
        return b"".join(self.parts())

    def parts(self) -> Iterator[bytes]:
        """The body as it comes."""
        with self.wire.naming():
            for part in self._parts:  # noqa: UP028 (`yield from` would close them with this, before their end is read)
                yield part


class Http:
    """Requests to the server at `address`, from any thread, over connections that are kept. uds: the Unix socket on
    which it listens. For errors: server, where and start say what it is called, where it is, and what to do if it does
    not answer; option is what the deadlines' names follow in the settings. Raises ConfigError for what is no address.
    """

    def __init__(
        self,
        address: str,
        deadlines: Deadlines,
        *,
        uds: str = "",
        headers: Mapping[str, str] | None = None,
        server: str = "Ollama server",
        where: str = "",
        start: str = "start the server",
        option: str = "backend.adapter.deadlines.",
    ) -> None:
        self.address, self.deadlines, self.server = address, deadlines, server
        self.where, self.option = where or address, option
        self.closed = False
        self._start, self._uds = start, uds
        self._idle: list[_Wire] = []
        self._wires: weakref.WeakSet[_Wire] = weakref.WeakSet()  # all, also those in use
        self._lock = threading.Lock()
        self._url = split_host(address)
        self._headers = {"Host": self._url.netloc, "Content-Type": "application/json", **(headers or {})}
        self._trusted = ssl.create_default_context() if self._url.scheme == "https" else None

    @contextmanager
    def ask(
        self, method: str, path: str, content: bytes | Path = b"", *, brief: bool = False, room: int = BODY_BYTES
    ) -> Iterator[Answer]:
        """The answer, for as long as the block runs. `content`: the body, or a file that holds it.

        brief: the whole answer must be there within the stall deadline. room: how many bytes the answer may have.
        Raises CallError: unreachable, timeout, runner_crash (the answer broke off), server_error (it is no HTTP, or too
        long), interrupted (by `close`).
        """
        end = time.monotonic() + (self.deadlines.stall if brief else self.deadlines.total)
        answer = self._sent(partial(self._request, method, path, content), brief, end, room)
        wire = answer.wire
        try:
            if answer.status == 200 and not answer.fields.keys() & {b"content-length", b"transfer-encoding"}:
                raise wire.failure(OSError("it does not say how long it is"))
            yield answer
            wire.until = min(wire.until, time.monotonic() + DRAIN_SECONDS)
            with suppress(CallError):
                deque(answer.parts(), maxlen=0)
        finally:
            answer.response.close()
            with self._lock:
                if wire.connection.is_idle() and not self.closed:
                    self._idle.append(wire)
                else:
                    wire.close()

    def close(self) -> None:
        """Refuse new requests, break off those in flight, and close the connections."""
        with self._lock:
            self.closed = True
            for wire in self._idle:
                wire.close()
            for wire in self._wires:
                wire.shut()

    def __del__(self) -> None:
        self.close()

    def interrupted(self) -> CallError:
        """This was closed, before or during a request."""
        hint = "run again to take up from here"
        return CallError(Failure.INTERRUPTED, "the backend is closed", where=self.where, hint=hint)

    def _request(self, method: str, path: str, content: bytes | Path) -> httpcore.Request:
        headers = dict(self._headers)
        if method == "POST":
            headers["Content-Length"] = str(content.stat().st_size if isinstance(content, Path) else len(content))
        target = f"{self._url.path.rstrip('/')}{path}".encode()
        url = httpcore.URL(scheme=ORIGIN.scheme, host=ORIGIN.host, port=ORIGIN.port, target=target)
        body = _parts(content) if isinstance(content, Path) else content
        return httpcore.Request(method, url, headers=list(headers.items()), content=body)

    def _sent(self, request: Callable[[], httpcore.Request], brief: bool, end: float, room: int) -> Answer:
        """The answer's head. Where an idle connection turns out to be dead, a new one is asked."""
        if wire := self._idle_wire():
            try:
                return wire.send(request(), brief, end, room)
            except CallError as error:
                if wire.received or error.failure is not Failure.RUNNER_CRASH:
                    raise
        return self._connect(end - time.monotonic()).send(request(), brief, end, room)

    def _idle_wire(self) -> _Wire | None:
        """A connection that was used before and seems to be alive."""
        with self._lock:
            if self.closed:
                raise self.interrupted()
            while self._idle:
                wire = self._idle.pop()
                if not wire.connection.has_expired():
                    return wire
                wire.close()
        return None

    def _connect(self, left: float) -> _Wire:
        """A new connection, within `left` seconds or its deadline. Raises CallError unreachable."""
        backend, host = httpcore.SyncBackend(), self._url.hostname or ""
        patience = max(min(self.deadlines.connect, left, LONGEST), 0.001)
        try:
            if self._uds:
                stream = backend.connect_unix_socket(self._uds, patience)
            else:
                stream = backend.connect_tcp(host, self._url.port or (443 if self._trusted else 80), patience)
            if self._trusted:
                stream = stream.start_tls(self._trusted, host, patience)
        except (httpcore.ConnectError, httpcore.ConnectTimeout, UnicodeError) as error:
            if self.closed:
                raise self.interrupted() from error
            late = isinstance(error, httpcore.ConnectTimeout)
            what = f"no {self.server} answers: {f'no connection within {patience:g} s' if late else error}"
            raise CallError(Failure.UNREACHABLE, what, where=self.where, hint=self._start) from error
        wire = _Wire(self, stream)
        with self._lock:
            self._wires.add(wire)
        return wire


def split_host(host: str) -> SplitResult:
    """`host` as the address of a server: http or https, a name, maybe a port and a path in front of /api.

    Raises ConfigError, which shows no password, where it is not, or holds a user's name: those would end up in files.
    """
    hint = "write it like http://127.0.0.1:11434"
    if "@" in host:
        shown = repr(f"{host.partition('//')[0]}//***@{host.rpartition('@')[2]}")
        what = "a host's address may hold no user name or password: it is written into runs, reports and errors"
        raise ConfigError(what, where=shown, hint=f"{hint}; a proxy before the server may know it by its address")
    try:
        url = urlsplit(host)
        complete = url.scheme in {"http", "https"} and url.hostname and url.port != 0 and host.isascii()
    except ValueError as error:
        raise ConfigError(f"not a host's address: {error}", where=repr(host), hint=hint) from error
    if not complete or url.query or url.fragment:
        raise ConfigError("not a host's address", where=repr(host), hint=hint)
    return url


def _parts(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while part := opened.read(2**20):
            yield part
