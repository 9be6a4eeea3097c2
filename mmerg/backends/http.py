"""An httpx client of one server. It adds deadlines, a limit on the size of responses, and cancellation.

Every failure is raised as a `CallError`. The client uses no proxies and follows no redirects. Each request has its own
connection, so that closing it stops the server's work, and no request gets the rest of another's response.

http = Http("http://127.0.0.1:11434", OLLAMA)
with http.post("/api/chat", {"model": "m"}) as response:
    for line in read_lines(response): ...
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from pydantic import ValidationError

from mmerg.backends.cancel import CancelToken, current_token
from mmerg.backends.server_errors import ServerKind
from mmerg.errors import CallError, ConfigError, Failure

BODY_BYTES = 2**26  # limit of a response
MODEL_CALLS = ("/api/chat", "/api/embed", "/v1/chat/completions", "/generate")  # other calls must respond soon

Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class Deadlines:
    """The deadlines of a call in seconds."""

    connect: float = 5.0
    first_token: float = 600.0  # until the response starts, with the server's queue and the evaluation of the prompt
    stall: float = 120.0  # between two parts of the response; also for calls that need no model
    total: float = 1200.0


class Http(httpx.BaseTransport):
    """A client that sends requests to the host at `address`. It is also a transport for other httpx clients.

    where: the host's name in errors. socket: the path of the Unix socket of a server in this process. token: is sent
    with each request, and never shown in an error.
    """

    def __init__(
        self,
        address: str,
        server: ServerKind,
        deadlines: Deadlines | None = None,
        *,
        where: str = "",
        socket: str = "",
        token: str = "",
    ) -> None:
        check_address(address)
        self.host, self.closed, self.deadlines = where or address, CancelToken(), deadlines or Deadlines()
        self._server, self._token = server, token
        self._transport = httpx.HTTPTransport(
            verify=ssl.create_default_context() if address.startswith("https") else False,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            uds=socket or None,
        )
        json_body = {"Content-Type": "application/json"}
        self._client = httpx.Client(base_url=address, headers=json_body, transport=self, trust_env=False)

    def post(self, path: str, body: object) -> AbstractContextManager[httpx.Response]:
        """Posts `body` as JSON. The block reads the response."""
        return self._client.stream("POST", path, content=json.dumps(body))

    def read(self, parse: Callable[[bytes], Parsed], path: str) -> Parsed:
        """Parses the response to a GET request, which must arrive within the stall deadline."""
        return self.parse(parse, self._client.get(path).content)

    def parse(self, parse: Callable[[bytes], Parsed], data: bytes) -> Parsed:
        """Parses a response, or a line of a response. Raises CallError if `parse` raises ValidationError."""
        try:
            return parse(data)
        except ValidationError as error:
            what = f"the response cannot be read: {error.errors()[0]['msg']}: {self.mask_token(data)[:100]!r}"
            raise self.make_response_error(what) from (None if self._token else error)  # the cause would show the token

    def make_response_error(self, what: str) -> CallError:
        """Builds the error for a response that a server of this kind never sends."""
        return CallError(Failure.SERVER_ERROR, what, where=self.host, hint=self._server.address)

    def make_status_error(self, status: int, data: bytes, model: str) -> CallError:
        """Builds the error for a response with `status`; 200 means an error inside a response that started well."""
        return self._server.classify(status, self.mask_token(data), model=model, where=self.host)

    def mask_token(self, data: bytes) -> str:
        """Returns a response as text, with the token masked."""
        text = data.decode(errors="replace")
        return text.replace(self._token, "***") if self._token else text

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Returns the response once its head is read. Raises CallError if its status is not 200."""
        # Send only the token of the settings, never a key that a client finds in the environment. Do not accept
        # compression, because the size limit would not apply to the content.
        request.headers.pop("Authorization", None)
        request.headers["Accept-Encoding"] = "identity"
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        with ExitStack() as stack:
            call = _Call(self.deadlines, stack, (self.closed, current_token()), request.url.path)
            request.extensions = {"timeout": call.timeouts, "trace": call.trace}
            with self._wrap_errors(call):
                inner = self._transport.handle_request(request)
            stack.callback(inner.close)
            parts = self._read_parts(inner, call)
            if inner.status_code != 200:
                model = json.loads(request.content or b"{}").get("model", "")
                raise self.make_status_error(inner.status_code, b"".join(parts), model)
            return httpx.Response(200, headers=inner.headers, stream=_Body(parts, stack.pop_all()))

    def close(self) -> None:
        """Refuses new requests, and cancels those in flight."""
        self.closed.cancel()

    def _read_parts(self, response: httpx.Response, call: _Call) -> Iterator[bytes]:
        received = 0
        with self._wrap_errors(call):
            call.start("stall")
            states_length = {"content-length", "transfer-encoding"} & response.headers.keys()
            if response.status_code == 200 and not states_length:
                raise httpx.ReadError("it does not state its length")
            for part in response.iter_raw():
                received += len(part)
                if received > BODY_BYTES:
                    raise httpx.RemoteProtocolError("the response is too long")
                call.count_down()
                yield part

    @contextmanager
    def _wrap_errors(self, call: _Call) -> Iterator[None]:
        """Turns every error of httpx in the block into a CallError."""
        try:
            yield
        except httpx.TransportError as error:
            raise self._make_error(call, error) from (None if self._token else error)

    def _make_error(self, call: _Call, error: httpx.TransportError) -> CallError:
        reason, server = self.mask_token(str(error).encode()), self._server
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            if isinstance(error, httpx.ConnectTimeout):
                reason = f"no connection within {self.deadlines.connect:g} s"
            failure, what, hint = Failure.UNREACHABLE, f"no {server.name} responds: {reason}", server.start
        elif isinstance(error, httpx.TimeoutException):
            failure = Failure.TIMEOUT
            what = f"the {call.phase} deadline of {getattr(self.deadlines, call.phase):g} s passed"
            hint = f"raise {server.option}{call.phase}, lower num_predict, or send fewer calls at once (a queue counts)"
        elif isinstance(error, httpx.NetworkError) or re.search("closed connection|disconnected", reason):
            failure, what = Failure.RUNNER_CRASH, f"the response broke off: {reason}"
            hint = "see the server's log: the server or its proxy died or closed the connection"
        else:
            failure, what = Failure.SERVER_ERROR, f"this is not an HTTP response: {reason}"[:200]
            hint = f"check that the host's address and scheme are those of the {server.name}"
        return CallError(failure, what, where=self.host, hint=hint)


class _Call:
    """One request and its response, with its deadlines. Each of `tokens` can cancel it until `resources` is closed.
    Raises CallError interrupted if one is cancelled."""

    def __init__(self, deadlines: Deadlines, resources: ExitStack, tokens: Sequence[CancelToken], path: str) -> None:
        for token in tokens:
            token.check()
        brief = not path.endswith(MODEL_CALLS)
        self._deadlines, self._total = deadlines, "stall" if brief else "total"
        self._end: float = time.monotonic() + getattr(deadlines, self._total)
        self._resources, self._tokens = resources, tokens
        self._socket: socket.socket  # once it is connected
        self.timeouts: dict[str, float] = {}  # of httpx; it reads them before it sends, and before it reads the body
        self.start("stall" if brief else "first_token")

    def start(self, phase: str) -> None:
        """Starts the deadline `phase`, which applies until the next part of the response arrives."""
        seconds, left = getattr(self._deadlines, phase), self.count_down()
        self.phase = phase if seconds < left else self._total
        self.timeouts |= {"connect": self._deadlines.connect, "read": min(seconds, left), "write": min(seconds, left)}

    def count_down(self) -> float:
        """Returns the seconds until the total deadline. Raises ReadTimeout if it has passed."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            self.phase = self._total
            raise httpx.ReadTimeout("")
        return seconds

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Makes the call's connection end when a token is cancelled. httpx calls this at each step of the call."""
        if event.endswith(("connect_tcp.complete", "connect_unix_socket.complete", "start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
        elif event == "http11.send_request_headers.started":
            for token in self._tokens:
                self._resources.enter_context(token.on_cancel(self._break_off))

    def _break_off(self) -> None:
        with suppress(OSError):  # the server has closed the connection
            # The shutdown of an SSL socket would end the session while another thread reads from it.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _Body(httpx.SyncByteStream):
    """The body of a response, which is read as it arrives."""

    def __init__(self, parts: Iterator[bytes], resources: ExitStack) -> None:
        self._parts, self._resources = parts, resources

    def __iter__(self) -> Iterator[bytes]:
        return self._parts

    def close(self) -> None:
        self._resources.close()


def read_lines(response: httpx.Response) -> Iterator[bytes]:
    """Yields the lines of a response as they arrive, without blank lines. (`iter_lines` of httpx also splits at
    characters that JSON may contain, such as U+0085.)"""
    rest = bytearray()
    for part in response.iter_raw():
        rest += part
        if b"\n" in part:
            *complete_lines, rest = rest.split(b"\n")
            yield from (bytes(line) for line in complete_lines if line.strip())
    if rest.strip():
        yield bytes(rest)


def check_address(address: str) -> None:
    """Raises ConfigError if `address` is not that of a server. (The settings refuse user names and passwords.)"""
    with suppress(httpx.InvalidURL, UnicodeError):
        url = httpx.URL(address)
        url.raw_host.decode().encode("idna")  # raises UnicodeError for a name that no host can have, as `a..b`
        if url.scheme in {"http", "https"} and url.host and not url.query:
            return
    hint = "write it like http://127.0.0.1:11434"
    raise ConfigError("this is not a host's address", where=repr(address), hint=hint)
