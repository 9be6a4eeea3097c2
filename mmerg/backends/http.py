"""HTTP to one server: kept-alive connections, deadlines that hold, caps on what is read, calls that can be broken off.

Only the look-up of a host's name outlasts a deadline. An idle connection that the server has closed is replaced once,
unseen. Every failure is a `CallError`. Follows no redirect, asks no proxy, and does not retry.

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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from urllib.parse import SplitResult, urlsplit

import h11

from mmerg.backends.connection import HEAD_BYTES, LINE_BYTES, LONGEST, Answer, Connection, Deadlines, Server
from mmerg.errors import CallError, ConfigError, Failure

__all__ = ["HEAD_BYTES", "LINE_BYTES", "Answer", "Deadlines", "Http", "split_host"]

BODY_BYTES = 2**26  # of an answer, where the caller names no other limit
DRAIN_SECONDS = 0.2  # for the end of a body whose last line was read; then its connection can be used again


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
        self.address = address
        self.server = Server(server, where or address, start, option, deadlines)
        self._uds = uds
        self._idle: list[Connection] = []
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()  # all, also those in use
        self._lock = threading.Lock()
        self._url = split_host(address)
        own = {"Host": self._url.netloc, "Content-Type": "application/json", **(headers or {})}
        self._headers = h11.Request(method="GET", target="/", headers=list(own.items())).headers  # checked once
        self._trusted = ssl.create_default_context() if self._url.scheme == "https" else None
        weakref.finalize(self, _close, self._idle)

    @contextmanager
    def ask(
        self, method: str, path: str, content: bytes = b"", *, brief: bool = False, room: int = BODY_BYTES
    ) -> Iterator[Answer]:
        """The answer to `content`, for as long as the block runs.

        brief: the whole answer must be there within the stall deadline. room: how many bytes the answer may have.
        Raises CallError: unreachable, timeout, runner_crash (the answer broke off), server_error (it is no HTTP, or too
        long), interrupted (by `close`).
        """
        end = time.monotonic() + (self.server.deadlines.stall if brief else self.server.deadlines.total)
        headers = [*self._headers, ("Content-Length", str(len(content)))] if method == "POST" else self._headers
        request = h11.Request(method=method, target=f"{self._url.path.rstrip('/')}{path}", headers=headers)
        answer = self._sent(request, content, brief, end, room)
        connection = answer.connection
        try:
            if answer.status == 200 and not answer.fields.keys() & {b"content-length", b"transfer-encoding"}:
                raise connection.failure(OSError("it does not say how long it is"))
            yield answer
            connection.until = min(connection.until, time.monotonic() + DRAIN_SECONDS)
            with suppress(CallError):
                deque(answer.parts(), maxlen=0)
        finally:
            with self._lock:
                if connection.renew() and not self.server.closed:
                    self._idle.append(connection)
                else:
                    connection.close()

    def close(self) -> None:
        """Refuse new requests, break off those in flight, and close the connections."""
        with self._lock:
            self.server.closed = True
            _close(self._idle)
            for connection in self._connections:
                connection.shut()

    def _sent(self, request: h11.Request, content: bytes, brief: bool, end: float, room: int) -> Answer:
        """The answer's head. Where an idle connection turns out to be dead, a new one is asked."""
        if connection := self._idle_one():
            try:
                return connection.send(request, content, brief, end, room)
            except CallError as error:
                if connection.received or error.failure is not Failure.RUNNER_CRASH:
                    raise
        return self._connect(end - time.monotonic()).send(request, content, brief, end, room)

    def _idle_one(self) -> Connection | None:
        """A connection that was used before and seems to be alive."""
        with self._lock:
            if self.server.closed:
                raise self.server.interrupted()
            while self._idle:
                connection = self._idle.pop()
                if connection.silent():
                    return connection
                connection.close()
        return None

    def _connect(self, left: float) -> Connection:
        """A new connection, within `left` seconds or its deadline. Raises CallError unreachable."""
        patience = max(min(self.server.deadlines.connect, left, LONGEST), 0.001)
        try:
            opened = self._opened(patience)
        except (OSError, UnicodeError) as error:
            if self.server.closed:
                raise self.server.interrupted() from error
            what = f"no connection within {patience:g} s" if isinstance(error, TimeoutError) else error
            what = f"no {self.server.name} answers: {what}"
            raise CallError(Failure.UNREACHABLE, what, where=self.server.where, hint=self.server.start) from error
        connection = Connection(self.server, opened)
        with self._lock:
            self._connections.add(connection)
        return connection

    def _opened(self, patience: float) -> socket.socket:
        if self._uds:
            opened = socket.socket(socket.AF_UNIX)
            opened.settimeout(patience)
            try:
                opened.connect(self._uds)
            except OSError:
                opened.close()
                raise
            return opened
        host, port = self._url.hostname or "", self._url.port or (443 if self._trusted else 80)
        opened = socket.create_connection((host, port), patience)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        return self._trusted.wrap_socket(opened, server_hostname=host) if self._trusted else opened


def _close(connections: Iterable[Connection]) -> None:
    for connection in connections:
        connection.close()


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
        plain = host.isascii() and host.isprintable() and " " not in host
        complete = plain and url.scheme in {"http", "https"} and url.hostname and url.port != 0
    except ValueError as error:
        raise ConfigError(f"not a host's address: {error}", where=repr(host), hint=hint) from error
    if not complete or url.query or url.fragment:
        raise ConfigError("not a host's address", where=repr(host), hint=hint)
    return url
