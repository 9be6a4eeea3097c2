"""The httpx transport of every call to a server. Deadlines hold, the size of responses is limited, a stop breaks a call
off at once, and every failure is a `CallError`.

httpx and httpcore speak HTTP and keep connections. Only their sockets are opened here, so that each wait on one ends
with the deadline or the stop of its call. The look-up of a host's name alone can outlast both. Proxies are not used and
redirects are not followed.
"""

import json
import selectors
import socket
import ssl
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import httpcore
import httpx

from mmerg.backends.deadlines import Deadlines, Timer
from mmerg.backends.server_errors import Server
from mmerg.backends.stop import Stop, current
from mmerg.errors import CallError, Failure

HEAD_BYTES = 2**20  # of a head, with the interim ones before it
BODY_BYTES = 2**26  # of a response, where the request's extension `most` names no other limit
ERROR_BYTES = 2**16  # of an error's text
MODEL_CALLS = ("/api/chat", "/api/embed", "/v1/chat/completions")  # all other requests must be answered soon


class Call:
    """One request. received: the bytes that came so far. reused: whether it went over a kept connection. hung_up:
    whether the server closed the connection."""

    def __init__(self, deadlines: Deadlines, closed: Stop, brief: bool) -> None:
        self.connect, self.timer, self.stops = deadlines.connect, Timer(deadlines, brief), (closed, current())
        self.received, self.most = 0, HEAD_BYTES
        self.connecting = self.reused = self.hung_up = False

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
        _CALL.get().connecting = True
        return self._connect(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))

    def connect_unix_socket(self, path: str, *_: object, **__: object) -> httpcore.NetworkStream:
        _CALL.get().connecting = True
        return self._connect([(socket.AF_UNIX, socket.SOCK_STREAM, 0, "", path)])

    def _connect(self, addresses: Sequence[tuple[Any, Any, int, str, Any]]) -> httpcore.NetworkStream:
        """A connection to the first address that takes one."""
        call, failure = _CALL.get(), OSError("the host has no address")
        call.reused = False
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


class Transport(httpx.BaseTransport):
    """For requests to one server, from any thread. closed: breaks all calls off. where: the name of the host in errors.
    token: sent with each request; no error shows it. file: the Unix socket of a server in this process. Its connections
    are not kept, as an idle one would block one of its few threads."""

    def __init__(
        self, server: Server, deadlines: Deadlines, closed: Stop, where: str, *, tls: bool, token: str, file: str
    ) -> None:
        self._server, self.deadlines, self._closed, self._where, self._token = server, deadlines, closed, where, token
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context() if tls else None,
            max_connections=None,
            max_keepalive_connections=0 if file else None,
            uds=file or None,
            network_backend=Network(),
        )
        weakref.finalize(self, self._pool.close)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The response, if its status is 200; the body follows as it comes. Raises CallError: unreachable, timeout,
        runner_crash (the response broke off), server_error (it is no HTTP, or too long), interrupted, and what an error
        response says."""
        call = Call(self.deadlines, self._closed, brief=not request.url.path.endswith(MODEL_CALLS))
        # Only the token of the settings is sent, never a key that a client finds in the environment. Compressed bodies
        # are not asked for, as the limit would not hold for what is in them.
        own = [one for one in request.headers.raw if one[0].lower() not in {b"authorization", b"accept-encoding"}]
        own += [(b"Authorization", f"Bearer {self._token}".encode())] if self._token else []
        sent = httpcore.Request(request.method, str(request.url), headers=own, content=request.stream)
        before = _CALL.set(call)
        try:
            with self._named(call):
                response = self._send(sent, call)
                if response.status != 200:
                    raise self._refused(request, response)
                headers = [(name.lower(), value) for name, value in response.headers]
                if not {name for name, _ in headers} & {b"content-length", b"transfer-encoding"}:
                    response.close()
                    raise ConnectionError("it does not say how long it is")
        finally:
            _CALL.reset(before)
        call.most = call.received + request.extensions.get("most", BODY_BYTES)
        headers = [one for one in headers if one[0] != b"content-encoding"]
        body = Body(response, self._named(call))
        return httpx.Response(200, headers=headers, stream=body, extensions={"timer": call.timer})

    def close(self) -> None:
        """Refuse new requests, break off those in flight, and close the idle connections."""
        self._closed.set()
        for connection in self._pool.connections:
            if connection.is_idle():  # a call that takes it now is interrupted before it sends
                connection.close()

    def _send(self, request: httpcore.Request, call: Call) -> httpcore.Response:
        """The response, its head read. If a kept connection turns out to be dead, the request is sent again."""
        while True:
            try:
                response = self._pool.handle_request(request)
            except (OSError, httpcore.RemoteProtocolError) as error:
                if call.received or not call.reused or isinstance(error, TimeoutError):
                    raise
            else:
                if call.received:
                    return response
                response.close()  # it came before the request was sent, so it answers something else

    def _refused(self, request: httpx.Request, response: httpcore.Response) -> CallError:
        """The error for a response of another status than 200."""
        data = b""
        for part in response.iter_stream():
            data += part
            if len(data) > ERROR_BYTES:
                break
        response.close()
        model = json.loads(request.content or b"{}").get("model", "")
        text = self.without_token(data[:ERROR_BYTES].decode(errors="replace"))
        return self._server.classify(response.status, text, model=model, where=self._where)

    def without_token(self, text: str) -> str:
        """What a server says, as an error may show it."""
        return text.replace(self._token, "***") if self._token else text

    @contextmanager
    def _named(self, call: Call) -> Iterator[None]:
        """Raises CallError for what goes wrong with the call."""
        try:
            yield
        except (OSError, UnicodeError, httpcore.ProtocolError) as error:
            raise self._failure(call, error) from (None if self._token else error)

    def _failure(self, call: Call, error: Exception) -> CallError:
        late, reason = isinstance(error, TimeoutError), self.without_token(str(error))
        if call.connecting:  # UnicodeError: the name is one that no host can have
            what = f"no {self._server.name} answers: {f'no connection within {call.connect:g} s' if late else reason}"
            return CallError(Failure.UNREACHABLE, what, where=self._where, hint=self._server.start)
        if late:
            phase = call.timer.phase
            what = f"the {phase} deadline of {getattr(self.deadlines, phase):g} s passed"
            hint = f"raise {self._server.option}{phase}, lower num_predict, or send fewer calls at once: waiting"
            return CallError(Failure.TIMEOUT, what, where=self._where, hint=f"{hint} in the server's queue counts")
        if isinstance(error, OSError) or call.hung_up:
            hint = "see the server's log; it, or a proxy before it, died or closed the connection"
            return CallError(Failure.RUNNER_CRASH, f"the response broke off: {reason}", where=self._where, hint=hint)
        hint = f"check that the host's address and scheme are those of the {self._server.name}"
        return CallError(
            Failure.SERVER_ERROR, f"this is not an HTTP response: {reason}"[:200], where=self._where, hint=hint
        )


class Body(httpx.SyncByteStream):
    """The body of a response, as it comes."""

    def __init__(self, response: httpcore.Response, named: AbstractContextManager[None]) -> None:
        self._response, self._named = response, named

    def __iter__(self) -> Iterator[bytes]:
        with self._named:
            yield from self._response.iter_stream()

    def close(self) -> None:
        self._response.close()
