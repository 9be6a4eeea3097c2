"""Network connections for httpcore. A wait on a connection ends at the call's deadline or when the call is cancelled,
and no call receives more bytes than its limit. Opening a connection ends only at its deadline.
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
    """One request. received: bytes so far. most: the limit of these. reused: whether the connection is a kept one.
    hung_up: whether the server closed it."""

    def __init__(self, deadlines: Deadlines, closed: CancelToken, brief: bool) -> None:
        self.connect, self.timer = deadlines.connect, Timer(deadlines, brief)
        self.tokens = closed, current_token()
        self.received, self.most = 0, HEAD_BYTES
        self.reused, self.hung_up = False, False

    @contextmanager
    def active(self) -> Iterator[None]:
        """In the block, this thread's connections serve this call."""
        before = _CALL.set(self)
        try:
            yield
        finally:
            _CALL.reset(before)

    @contextmanager
    def waiting(self, on: httpcore.NetworkStream) -> Iterator[float]:
        """Yields the seconds that the wait in the block may take. Raises CallError interrupted once the call is
        cancelled."""

        def shut() -> None:
            with suppress(OSError):  # the server has closed the connection
                # ssl's own shutdown would end the session while it is read
                socket.socket.shutdown(on.get_extra_info("socket"), socket.SHUT_RDWR)

        closed, thread = self.tokens
        with closed.on_cancel(shut), thread.on_cancel(shut):
            yield self.timer.left()

    def to_connect(self) -> float:
        """The seconds that opening a connection may take. Raises CallError interrupted if the call is cancelled."""
        for token in self.tokens:
            token.check()
        return min(self.connect, self.timer.left())


_CALL: ContextVar[Call] = ContextVar("call")  # this thread's


class Stream(httpcore.NetworkStream):
    """A connection, which serves one call after another. It ignores the time-outs of httpcore and httpx."""

    def __init__(self, inner: httpcore.NetworkStream, call: Call) -> None:
        self._inner, self._call = inner, call
        self.close, self.get_extra_info = inner.close, inner.get_extra_info  # type: ignore[method-assign]

    def read(self, max_bytes: int, *_: object, **__: object) -> bytes:
        call = self._call
        with call.waiting(self._inner) as seconds:
            data = self._inner.read(max_bytes, seconds)
        call.received += len(data)
        call.hung_up = not data
        if call.received > call.most:
            raise httpcore.RemoteProtocolError("the response is too long")
        return data

    def write(self, buffer: bytes, *_: object, **__: object) -> None:
        call = _CALL.get()
        call.reused = call.reused or call is not self._call
        self._call = call
        with call.waiting(self._inner) as seconds:
            self._inner.write(buffer, seconds)

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, *_: object, **__: object
    ) -> httpcore.NetworkStream:
        secure = self._inner.start_tls(ssl_context, server_hostname, self._call.to_connect())
        return Stream(secure, self._call)


class Network(httpcore.SyncBackend):
    """Opens connections for httpcore."""

    def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> httpcore.NetworkStream:
        call = _CALL.get()
        return Stream(super().connect_tcp(host, port, call.to_connect()), call)

    def connect_unix_socket(self, path: str, *_: Any, **__: Any) -> httpcore.NetworkStream:
        call = _CALL.get()
        return Stream(super().connect_unix_socket(path, call.to_connect()), call)
