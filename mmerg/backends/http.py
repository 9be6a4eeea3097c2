"""An httpx client of one server. It adds deadlines, limits on the size of responses, and cancellation.

Every failure is raised as a `CallError`. The client uses no proxies and follows no redirects.

http = Http("http://127.0.0.1:11434", OLLAMA)
with http.post("/api/chat", {"model": "m"}) as response:
    for line in read_lines(response): ...
"""

import json
import ssl
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

import httpcore
import httpx
from pydantic import ValidationError

from mmerg.backends.cancel import CancelToken
from mmerg.backends.deadlines import Deadlines
from mmerg.backends.network import Call, Network
from mmerg.backends.server_errors import ServerKind
from mmerg.errors import CallError, ConfigError, Failure

BODY_BYTES = 2**26  # limit of a response, unless the request's extension `max_bytes` sets another
ERROR_BYTES = 2**16  # how much of an error response is read
MODEL_CALLS = ("/api/chat", "/api/embed", "/v1/chat/completions", "/generate")  # other calls must respond soon

Parsed = TypeVar("Parsed")


class Http(httpx.BaseTransport):
    """A client that sends requests to the host at `address`. It is also a transport for other httpx clients.

    where: the host's name in errors. socket: the path of the Unix socket of a server in this process. Its connections
    are not kept, because an idle connection would block one of the server's few threads. token: is sent with each
    request, and never shown in an error.
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
        url = split_address(address)
        self.host, self.closed, self.deadlines = where or address, CancelToken(), deadlines or Deadlines()
        self._server, self._token = server, token
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context() if url.scheme == "https" else None,
            max_connections=None,
            max_keepalive_connections=0 if socket else None,
            uds=socket or None,
            network_backend=Network(),
        )
        weakref.finalize(self, self._pool.close)
        json_body = {"Content-Type": "application/json"}
        self._client = httpx.Client(base_url=address, headers=json_body, transport=self, trust_env=False)

    def post(self, path: str, body: object, max_bytes: int | None = None) -> AbstractContextManager[httpx.Response]:
        """Posts `body` as JSON. The block reads the response, which may have at most `max_bytes`."""
        limits = {} if max_bytes is None else {"max_bytes": max_bytes}
        return self._client.stream("POST", path, content=json.dumps(body), extensions=limits)

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
        call = Call(self.deadlines, self.closed, brief=not request.url.path.endswith(MODEL_CALLS))
        # Send only the token of the settings, never a key that a client finds in the environment. Do not accept
        # compression, because the size limit would not apply to the content.
        dropped = {b"authorization", b"accept-encoding"}
        sent_headers = [(name, value) for name, value in request.headers.raw if name.lower() not in dropped]
        if self._token:
            sent_headers.append((b"Authorization", f"Bearer {self._token}".encode()))
        sent = httpcore.Request(request.method, str(request.url), headers=sent_headers, content=request.stream)
        with self._wrap_errors(call), call.active():
            response = self._send(sent, call)
            if response.status != 200:
                raise self._read_error(request, response)
            headers = httpx.Headers(response.headers)
            headers.pop("Content-Encoding", None)
            if not {"content-length", "transfer-encoding"} & headers.keys():
                response.close()
                raise httpcore.ReadError("it does not state its length")
        call.max_bytes = call.received + request.extensions.get("max_bytes", BODY_BYTES)
        body = Body(response, self._wrap_errors(call))
        return httpx.Response(200, headers=headers, stream=body, extensions={"timer": call.timer})

    def close(self) -> None:
        """Refuses new requests, cancels those in flight, and closes idle connections."""
        self.closed.cancel()
        for connection in self._pool.connections:
            if connection.is_idle():  # a call that takes this connection now is interrupted before it sends
                connection.close()

    def _send(self, request: httpcore.Request, call: Call) -> httpcore.Response:
        """Sends a request. Repeats it if a kept connection turns out to be dead, or to hold an earlier response."""
        while True:
            try:
                response = self._pool.handle_request(request)
            except (httpcore.NetworkError, httpcore.RemoteProtocolError):
                if call.received or not call.reused:
                    raise
            else:
                if call.received:
                    return response
                response.close()  # it arrived before this request was sent, so it responds to another
            call.reused = False

    def _read_error(self, request: httpx.Request, response: httpcore.Response) -> CallError:
        """Builds the error for a response whose status is not 200, which it reads."""
        data = b""
        for part in response.iter_stream():
            data += part
            if len(data) > ERROR_BYTES:
                break
        response.close()
        model = json.loads(request.content or b"{}").get("model", "")
        return self.make_status_error(response.status, data[:ERROR_BYTES], model)

    @contextmanager
    def _wrap_errors(self, call: Call) -> Iterator[None]:
        """Turns every error of httpcore in the block into a CallError."""
        try:
            yield
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, UnicodeError) as error:
            raise self._make_error(call, error) from (None if self._token else error)

    def _make_error(self, call: Call, error: Exception) -> CallError:
        reason, server = self.mask_token(str(error).encode()), self._server
        # UnicodeError: no host can have such a name.
        if isinstance(error, httpcore.ConnectError | httpcore.ConnectTimeout | UnicodeError):
            if isinstance(error, httpcore.ConnectTimeout):
                reason = f"no connection within {call.connect:g} s"
            failure, what, hint = Failure.UNREACHABLE, f"no {server.name} responds: {reason}", server.start
        elif isinstance(error, httpcore.TimeoutException):
            phase = call.timer.phase
            failure, what = Failure.TIMEOUT, f"the {phase} deadline of {getattr(self.deadlines, phase):g} s passed"
            hint = f"raise {server.option}{phase}, lower num_predict, or send fewer calls at once, because time in the "
            hint += "server's queue counts"
        elif isinstance(error, httpcore.NetworkError) or call.closed_by_server:
            failure, what = Failure.RUNNER_CRASH, f"the response broke off: {reason}"
            hint = "see the server's log: the server or its proxy died or closed the connection"
        else:
            failure, what = Failure.SERVER_ERROR, f"this is not an HTTP response: {reason}"[:200]
            hint = f"check that the host's address and scheme are those of the {server.name}"
        return CallError(failure, what, where=self.host, hint=hint)


class Body(httpx.SyncByteStream):
    """The body of a response, which is read as it arrives."""

    def __init__(self, response: httpcore.Response, errors: AbstractContextManager[None]) -> None:
        self._response, self._errors = response, errors

    def __iter__(self) -> Iterator[bytes]:
        with self._errors:
            yield from self._response.iter_stream()

    def close(self) -> None:
        self._response.close()


def read_lines(response: httpx.Response) -> Iterator[bytes]:
    """Yields the lines of a response as they arrive, without blank lines. From the first line on, the stall deadline
    applies. (`iter_lines` of httpx also splits at characters that JSON may contain, such as U+0085.)"""
    rest = bytearray()
    for part in response.iter_raw():
        rest += part
        if b"\n" in part:
            response.extensions["timer"].enter("stall")
            *complete_lines, rest = rest.split(b"\n")
            yield from (bytes(line) for line in complete_lines if line.strip())
    if rest.strip():
        yield bytes(rest)


def split_address(address: str) -> SplitResult:
    """Splits a server's address. Raises ConfigError if it is not an address, or if it contains a user name or password,
    which would be written to files. The error does not show them."""
    hint = "write it like http://127.0.0.1:11434"
    if "@" in address:
        masked = repr(f"{address.partition('//')[0]}//***@{address.rpartition('@')[2]}")
        what = "a host's address must not contain a user name or password: it appears in runs, reports and errors"
        raise ConfigError(what, where=masked, hint=f"{hint}; a proxy can authenticate by address instead")
    with suppress(ValueError):
        url = urlsplit(address)
        printable = address.isascii() and address.isprintable() and " " not in address
        if printable and url.scheme in {"http", "https"} and url.hostname and url.port != 0 and not url.query:
            return url
    raise ConfigError("this is not a host's address", where=repr(address), hint=hint)
