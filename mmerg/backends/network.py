"""Network connections for httpcore that keep to the deadlines and limits of a call.

A wait on a connection ends at the call's deadline or when the call is cancelled, and no call receives more bytes than
its limit. An attempt to open a connection ends only at its deadline.
"""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import httpcore

from mmerg.backends.cancel import CancelToken, current_token
from mmerg.backends.deadlines import Deadlines, Timer

HEAD_BYTES = 2**20  # limit of a response's head, with interim responses (1xx) before it


class Call:
    """One request and its response. connect: the deadline for opening a connection, in seconds; `timer` has others."""

    def __init__(self, deadlines: Deadlines, closed: CancelToken, brief: bool) -> None:
        self.connect, self.timer = deadlines.connect, Timer(deadlines, brief)
        self.tokens = closed, current_token()
        self.received, self.max_bytes = 0, HEAD_BYTES  # bytes of the response, so far and at most
        self.reused, self.closed_by_server = False, False  # the connection served an earlier call; is closed

    @contextmanager
    def active(self) -> Iterator[None]:
        """Makes this thread's connections serve this call while the block runs."""
        reset_token = _CALL.set(self)
        try:
            yield
        finally:
            _CALL.reset(reset_token)

    @contextmanager
    def wait_on(self, stream: httpcore.NetworkStream) -> Iterator[float]:
        """Yields the seconds for which the block may wait on `stream`. Raises CallError interrupted when cancelled."""

        def shut() -> None:
            with suppress(OSError):  # the server has closed the connection
                # The shutdown of an SSL socket would end the session while another thread reads from it.
                socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)

        closed, thread = self.tokens
        with closed.on_cancel(shut), thread.on_cancel(shut):
            yield self.timer.remaining()

    def connect_seconds(self) -> float:
        """Returns the seconds that opening a connection may take. Raises CallError interrupted if it is cancelled."""
        for token in self.tokens:
            token.check()
        return min(self.connect, self.timer.remaining())


_CALL: ContextVar[Call] = ContextVar("call")  # the call that this thread makes


class Stream(httpcore.NetworkStream):
    """A connection, which serves one call after another. It ignores the timeouts of httpcore and httpx."""

    def __init__(self, inner: httpcore.NetworkStream, call: Call) -> None:
        self._inner, self._call = inner, call
        self.close, self.get_extra_info = inner.close, inner.get_extra_info  # type: ignore[method-assign]

    def read(self, max_bytes: int, *_: object, **__: object) -> bytes:
        call = self._call
        with call.wait_on(self._inner) as seconds:
            data = self._inner.read(max_bytes, seconds)
        call.received += len(data)
        call.closed_by_server = not data
        if call.received > call.max_bytes:
            raise httpcore.RemoteProtocolError("the response is too long")
        return data

    def write(self, buffer: bytes, *_: object, **__: object) -> None:
        call = _CALL.get()
        call.reused = call.reused or call is not self._call
        self._call = call
        with call.wait_on(self._inner) as seconds:
            self._inner.write(buffer, seconds)

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, *_: object, **__: object
    ) -> httpcore.NetworkStream:
        secure = self._inner.start_tls(ssl_context, server_hostname, self._call.connect_seconds())
        return Stream(secure, self._call)


class Network(httpcore.SyncBackend):
    """An opener of connections for httpcore."""

    def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> httpcore.NetworkStream:
        call = _CALL.get()
        return Stream(super().connect_tcp(host, port, call.connect_seconds()), call)

    def connect_unix_socket(self, path: str, *_: Any, **__: Any) -> httpcore.NetworkStream:
        call = _CALL.get()
        return Stream(super().connect_unix_socket(path, call.connect_seconds()), call)
