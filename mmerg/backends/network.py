"""The sockets that httpcore speaks HTTP over. Each wait on one ends with the deadline or the stop of its call, and no
call receives more than it may. The look-up of a host's name alone can outlast both.
"""

import selectors
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import httpcore

from mmerg.backends.deadlines import Deadlines, Timer
from mmerg.backends.stop import Stop, current

HEAD_BYTES = 2**20  # of a head, with the interim ones before it


class Call:
    """One request. received: the bytes that came so far. connecting: whether nothing is sent yet. reused: whether it
    went over a kept connection. hung_up: whether the server closed the connection."""

    def __init__(self, deadlines: Deadlines, closed: Stop, brief: bool) -> None:
        self.connect, self.timer, self.stops = deadlines.connect, Timer(deadlines, brief), (closed, current())
        self.received, self.most = 0, HEAD_BYTES
        self.connecting, self.reused, self.hung_up = True, False, False

    @contextmanager
    def made(self) -> Iterator[None]:
        """In the block, requests of this thread are this call's."""
        before = _CALL.set(self)
        try:
            yield
        finally:
            _CALL.reset(before)

    @contextmanager
    def waiting(self, on: socket.socket) -> Iterator[None]:
        """Wait on a socket within the deadline. Raises CallError interrupted as soon as a stop is set."""

        def shut() -> None:
            with suppress(OSError):  # it is not connected, or the server was quicker
                socket.socket.shutdown(on, socket.SHUT_RDWR)  # ssl's would take the session from under the reader

        closed, thread = self.stops
        with closed.held(shut), thread.held(shut):
            on.settimeout(min(self.connect, self.timer.left()) if self.connecting else self.timer.left())
            yield


_CALL: ContextVar[Call] = ContextVar("call")  # that this thread makes


class Stream(httpcore.NetworkStream):
    """A connected socket, used by one call after the other. The time-outs of httpcore and httpx are not used."""

    def __init__(self, connected: socket.socket, call: Call) -> None:
        self._socket, self._call = connected, call

    def read(self, max_bytes: int, *_: object, **__: object) -> bytes:
        call = self._call
        with call.waiting(self._socket):
            data = self._socket.recv(max_bytes)
        call.received += len(data)
        call.hung_up = not data
        if call.received > call.most:
            raise httpcore.RemoteProtocolError("the response is too long")
        return data

    def write(self, buffer: bytes, *_: object, **__: object) -> None:
        if not buffer:  # httpcore writes the end of a body, too
            return
        call = _CALL.get()
        call.connecting, call.reused = False, call.reused or call is not self._call
        self._call = call
        try:
            with call.waiting(self._socket):
                self._socket.sendall(buffer)
        except TimeoutError:
            raise
        except OSError as error:  # the server takes no more, and may have said why: httpcore reads that next
            raise httpcore.WriteError from error

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, *_: object, **__: object
    ) -> httpcore.NetworkStream:
        secure = ssl_context.wrap_socket(self._socket, server_hostname=server_hostname, do_handshake_on_connect=False)
        try:
            with self._call.waiting(secure):
                secure.do_handshake()
        except BaseException:
            secure.close()
            raise
        return Stream(secure, self._call)

    def get_extra_info(self, info: str) -> Any:
        if info != "is_readable":
            return None
        with selectors.DefaultSelector() as selector:  # an idle connection is readable if the server has closed it
            selector.register(self._socket, selectors.EVENT_READ)
            return bool(selector.select(0))


class Network(httpcore.NetworkBackend):
    """Opens sockets for httpcore."""

    def connect_tcp(self, host: str, port: int, *_: object, **__: object) -> httpcore.NetworkStream:
        return self._connect(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))

    def connect_unix_socket(self, path: str, *_: object, **__: object) -> httpcore.NetworkStream:
        return self._connect([(socket.AF_UNIX, socket.SOCK_STREAM, 0, "", path)])

    def _connect(self, addresses: Sequence[tuple[Any, Any, int, str, Any]]) -> httpcore.NetworkStream:
        """A connection to the first address that takes one."""
        call, failure = _CALL.get(), OSError("the host has no address")
        for family, kind, protocol, _, address in addresses:
            opened = socket.socket(family, kind, protocol)
            try:
                with call.waiting(opened):
                    opened.connect(address)
                if family in {socket.AF_INET, socket.AF_INET6}:
                    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
                return Stream(opened, call)
            except OSError as error:
                failure = error
                opened.close()
            except BaseException:
                opened.close()
                raise
        raise failure
