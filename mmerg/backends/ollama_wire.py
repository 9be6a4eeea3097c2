"""One request to an Ollama host whose answer is read line by line, under four deadlines that hold.

http.client under a socket whose every read and write gets only the time that is left, so that neither a silent nor a
dripping server can outlast a deadline; and a stream that is torn is told from one that ends (a torn one looks whole
to clients that read line by line). Knows nothing of what the lines say.

    with Exchange("http://127.0.0.1:11434", Deadlines()) as exchange:
        status = exchange.post("/api/chat", body)
        for line in exchange.lines(): ...
"""

from __future__ import annotations

import http.client
import io
import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from mmerg.errors import CallError, ConfigError, Failure

READ_BYTES = 65536
ERROR_BODY_BYTES = 65536


@dataclass(frozen=True)
class Deadlines:
    """Seconds: to connect; from the request to the first line (the server's queue and the prompt's evaluation count);
    between two lines; and for the whole call."""

    connect: float = 5.0
    first_token: float = 300.0
    stall: float = 60.0
    total: float = 600.0


class _Wire(io.RawIOBase):
    """A connected socket that http.client may read and write until `deadline` on the monotonic clock, no longer."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._sock = sock
        self.deadline = math.inf

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._allow_what_is_left()
        return self._sock.recv_into(buffer)

    def sendall(self, data: bytes) -> None:
        self._allow_what_is_left()
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def shut(self) -> None:
        """End both directions from any thread; a read that waits returns. The plain socket's own shutdown, because
        ssl's would pull the session away from under the reading thread."""
        try:
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)
        except OSError:
            return  # the server was quicker

    def close(self) -> None:
        """Nothing: http.client closes its side where the server says so, while the answer is still to be read."""

    def hang_up(self) -> None:
        self._sock.close()

    def _allow_what_is_left(self) -> None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)


class Exchange:
    """One request to `host` and its answer. `abort` may be called from another thread, all else by one alone."""

    def __init__(self, host: str, deadlines: Deadlines) -> None:
        self.host = host
        self.content_type = ""
        self._deadlines = deadlines
        self._wire: _Wire | None = None
        self._response: http.client.HTTPResponse | None = None
        self._left: int | None = None  # bytes of a body whose length was announced
        self._phase = ""
        self._end = math.inf
        self._aborted = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._response is not None:
            self._response.close()
        if self._wire is not None:
            self._wire.hang_up()

    def post(self, path: str, body: bytes) -> int:
        """Send `body` (JSON) and wait for the head of the answer: its status."""
        return self._ask("POST", path, body, "first_token")

    def get(self, path: str) -> int:
        """The status of an answer that needs no model, for which the `stall` deadline holds."""
        return self._ask("GET", path, None, "stall")

    def _ask(self, method: str, path: str, body: bytes | None, phase: str) -> int:
        address = split_host(self.host)
        self._end = time.monotonic() + self._deadlines.total
        connection = self._connect(address)
        with self._named_failures():
            self._enter(phase)
            connection.request(method, address.path.rstrip("/") + path, body, {"Content-Type": "application/json"})
            self._response = connection.getresponse()
        self._left = self._response.length
        self.content_type = (self._response.getheader("Content-Type") or "").partition(";")[0].strip().lower()
        return self._response.status

    def lines(self) -> Iterator[bytes]:
        """The lines of the body that are not blank. Ends where the body ends whole; a torn body is a CallError."""
        rest = b""
        while chunk := self._read():
            *whole, rest = (rest + chunk).split(b"\n")
            if whole:
                self._enter("stall")
            yield from (line for line in whole if line.strip())
        if rest.strip():
            yield rest

    def text(self) -> str:
        """The body of an error answer, as text, cut at 64 KiB."""
        body = b""
        while len(body) < ERROR_BODY_BYTES and (chunk := self._read()):
            body += chunk
        return body[:ERROR_BODY_BYTES].decode(errors="replace")

    def abort(self) -> None:
        """Break the exchange off: whoever waits in it gets CallError interrupted."""
        with self._lock:
            self._aborted = True
            if self._wire is not None:
                self._wire.shut()

    def _connect(self, address: SplitResult) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        patience = min(self._deadlines.connect, self._deadlines.total)
        connection = kind(address.hostname or "", address.port, timeout=patience)
        try:
            connection.connect()
        except (OSError, UnicodeError) as error:  # refused, no such name, no route, a certificate, or the deadline
            connection.close()
            why = f"no connection within {patience:g} s" if isinstance(error, TimeoutError) else str(error)
            raise unreachable(self.host, why) from error
        with self._lock:
            self._wire = _Wire(connection.sock)
            if self._aborted:
                self._wire.shut()
        connection.sock = self._wire
        return connection

    def _read(self) -> bytes:
        assert self._response is not None, "post or get comes first"
        with self._named_failures():
            if self._left == 0:
                return b""
            chunk = self._response.read1(READ_BYTES if self._left is None else min(READ_BYTES, self._left))
            if not chunk and not self._response.chunked:
                raise http.client.IncompleteRead(b"", self._left)  # read1 itself takes this for the end
            if self._left is not None:
                self._left -= len(chunk)
        return chunk

    def _enter(self, phase: str) -> None:
        assert self._wire is not None, "connected by now"
        self._phase = phase
        seconds: float = getattr(self._deadlines, phase)
        self._wire.deadline = min(time.monotonic() + seconds, self._end)

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        try:
            yield
        except (OSError, http.client.HTTPException) as error:
            if self._aborted:
                raise interrupted(self.host) from error
            raise self._failure(error) from error
        if self._aborted:
            raise interrupted(self.host)

    def _failure(self, error: OSError | http.client.HTTPException) -> CallError:
        if isinstance(error, TimeoutError):
            phase = "total" if time.monotonic() >= self._end else self._phase
            seconds = getattr(self._deadlines, phase)
            return CallError(
                Failure.TIMEOUT,
                f"the {phase} deadline of {seconds:g} s passed",
                where=self.host,
                hint=f"raise deadlines.{phase}, or send fewer calls at once: waiting in the server's queue counts",
            )
        if isinstance(error, OSError | http.client.IncompleteRead):
            return CallError(
                Failure.RUNNER_CRASH,
                f"the answer broke off: {str(error) or type(error).__name__}",
                where=self.host,
                hint="see the server's log; it, or a proxy before it, died or hung up in mid-answer",
            )
        return CallError(
            Failure.SERVER_ERROR,
            f"the answer is not HTTP: {type(error).__name__} {str(error)[:100]!r}",
            where=self.host,
            hint="check that the host's address and scheme are those of an Ollama server",
        )


def split_host(host: str) -> SplitResult:
    """`host` as the address of a server: http or https, a name, maybe a port and a path in front of /api."""
    hint = "write it like http://127.0.0.1:11434"
    try:
        address = urlsplit(host)
        complete = address.scheme in {"http", "https"} and address.hostname and (address.port or True)
    except ValueError as error:
        raise ConfigError(f"not a host's address: {error}", where=repr(host), hint=hint) from error
    if not complete or address.query or address.fragment:
        raise ConfigError("not a host's address", where=repr(host), hint=hint)
    return address


def unreachable(host: str, why: str) -> CallError:
    """Nothing answers at `host`."""
    hint = "start it with `ollama serve`, or name the right one with backend.hosts=[http://HOST:11434]"
    return CallError(Failure.UNREACHABLE, f"no Ollama server answers: {why}", where=host, hint=hint)


def interrupted(host: str) -> CallError:
    """The backend was closed, before or during the call."""
    return CallError(Failure.INTERRUPTED, "the backend is closed", where=host, hint="run again to take up from here")
