"""An httpx client of one server, with deadlines, limits on the size of responses, cancellation, and a `CallError` for
every failure. It uses no proxies and follows no redirects.

http = Http("http://127.0.0.1:11434", OLLAMA)
with http.post("/api/chat", {"model": "m"}) as response:
    for line in lines(response): ...
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
from mmerg.backends.server_errors import Server
from mmerg.errors import CallError, ConfigError, Failure

BODY_BYTES = 2**26  # limit of a response, unless the request's extension `most` sets another
ERROR_BYTES = 2**16  # of an error response that are read
MODEL_CALLS = ("/api/chat", "/api/embed", "/v1/chat/completions", "/generate")  # others must respond soon

Parsed = TypeVar("Parsed")


class Http(httpx.BaseTransport):
    """Sends requests to the host at `address`; also a transport for other httpx clients. where: the host's name in
    errors. token: sent with each request and shown in no error. file: the Unix socket of a server in this process. Its
    connections are not kept, as an idle connection would block one of the server's few threads."""

    def __init__(
        self,
        address: str,
        server: Server,
        deadlines: Deadlines | None = None,
        *,
        where: str = "",
        file: str = "",
        token: str = "",
    ) -> None:
        url = split_address(address)
        self.host, self.closed, self.deadlines = where or address, CancelToken(), deadlines or Deadlines()
        self._server, self._token = server, token
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context() if url.scheme == "https" else None,
            max_connections=None,
            max_keepalive_connections=0 if file else None,
            uds=file or None,
            network_backend=Network(),
        )
        weakref.finalize(self, self._pool.close)
        json_body = {"Content-Type": "application/json"}
        self._client = httpx.Client(base_url=address, headers=json_body, transport=self, trust_env=False)

    def post(self, path: str, body: object, most: int | None = None) -> AbstractContextManager[httpx.Response]:
        """Posts `body` as JSON. The block reads the response, which may have at most `most` bytes."""
        limits = {} if most is None else {"most": most}
        return self._client.stream("POST", path, content=json.dumps(body), extensions=limits)

    def read(self, parse: Callable[[bytes], Parsed], path: str) -> Parsed:
        """Parses the whole response to a GET, which must come within the stall deadline."""
        return self.parse(parse, self._client.get(path).content)

    def parse(self, parse: Callable[[bytes], Parsed], data: bytes) -> Parsed:
        """Parses a response or a line of a response. Raises CallError if `parse` raises ValidationError."""
        try:
            return parse(data)
        except ValidationError as error:
            what = f"the response cannot be read: {error.errors()[0]['msg']}: {self.without_token(data)[:100]!r}"
            raise self.unexpected(what) from (None if self._token else error)  # the cause shows the response as it came

    def unexpected(self, what: str) -> CallError:
        """The error for a response that this kind of server does not give."""
        return CallError(Failure.SERVER_ERROR, what, where=self.host, hint=self._server.address)

    def error(self, status: int, data: bytes, model: str = "") -> CallError:
        """The error for a response with `status`; 200 stands for an error inside a response that began well."""
        return self._server.classify(status, self.without_token(data), model=model, where=self.host)

    def without_token(self, data: bytes) -> str:
        """A response as text, with the token masked."""
        text = data.decode(errors="replace")
        return text.replace(self._token, "***") if self._token else text

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Returns the response once its head is read. Raises CallError if its status is not 200."""
        call = Call(self.deadlines, self.closed, brief=not request.url.path.endswith(MODEL_CALLS))
        # Only the token of the settings is sent, never a key that a client finds in the environment. Compression is not
        # accepted, as the size limit would not apply to the content.
        names = {b"authorization", b"accept-encoding"}
        sent_headers = [header for header in request.headers.raw if header[0].lower() not in names]
        sent_headers += [(b"Authorization", f"Bearer {self._token}".encode())] if self._token else []
        sent = httpcore.Request(request.method, str(request.url), headers=sent_headers, content=request.stream)
        with self._errors(call), call.active():
            response = self._send(sent, call)
            if response.status != 200:
                raise self._refused(request, response)
            headers = httpx.Headers(response.headers)
            headers.pop("Content-Encoding", None)
            if not {"content-length", "transfer-encoding"} & headers.keys():
                response.close()
                raise httpcore.ReadError("it does not state its length")
        call.most = call.received + request.extensions.get("most", BODY_BYTES)
        body = Body(response, self._errors(call))
        return httpx.Response(200, headers=headers, stream=body, extensions={"timer": call.timer})

    def close(self) -> None:
        """Refuses new requests, cancels those in flight, and closes idle connections."""
        self.closed.cancel()
        for connection in self._pool.connections:
            if connection.is_idle():  # a call that takes it now is interrupted before it sends
                connection.close()

    def _send(self, request: httpcore.Request, call: Call) -> httpcore.Response:
        """Sends a request, and again if its kept connection is dead or already has a response, to another request."""
        while True:
            try:
                response = self._pool.handle_request(request)
            except (httpcore.NetworkError, httpcore.RemoteProtocolError):
                if call.received or not call.reused:
                    raise
            else:
                if call.received:
                    return response
                response.close()  # the server had sent it behind the previous response, before this request
            call.reused = False

    def _refused(self, request: httpx.Request, response: httpcore.Response) -> CallError:
        """The error for a response whose status is not 200."""
        data = b""
        for part in response.iter_stream():
            data += part
            if len(data) > ERROR_BYTES:
                break
        response.close()
        model = json.loads(request.content or b"{}").get("model", "")
        return self.error(response.status, data[:ERROR_BYTES], model)

    @contextmanager
    def _errors(self, call: Call) -> Iterator[None]:
        """Raises CallError for whatever goes wrong with the call."""
        try:
            yield
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, UnicodeError) as error:
            raise self._failure(call, error) from (None if self._token else error)

    def _failure(self, call: Call, error: Exception) -> CallError:
        reason, server = self.without_token(str(error).encode()), self._server
        if isinstance(error, httpcore.ConnectError | httpcore.ConnectTimeout | UnicodeError):  # no host has such a name
            if isinstance(error, httpcore.ConnectTimeout):
                reason = f"no connection within {call.connect:g} s"
            failure, what, hint = Failure.UNREACHABLE, f"no {server.name} answers: {reason}", server.start
        elif isinstance(error, httpcore.TimeoutException):
            phase = call.timer.phase
            failure, what = Failure.TIMEOUT, f"the {phase} deadline of {getattr(self.deadlines, phase):g} s passed"
            hint = f"raise {server.option}{phase}, lower num_predict, or send fewer calls at once: waiting in the "
            hint += "server's queue counts"
        elif isinstance(error, httpcore.NetworkError) or call.hung_up:
            failure, what = Failure.RUNNER_CRASH, f"the response broke off: {reason}"
            hint = "see the server's log: the server or its proxy died or closed the connection"
        else:
            failure, what = Failure.SERVER_ERROR, f"this is not an HTTP response: {reason}"[:200]
            hint = f"check that the host's address and scheme are those of the {server.name}"
        return CallError(failure, what, where=self.host, hint=hint)


class Body(httpx.SyncByteStream):
    """The body of a response, as it comes."""

    def __init__(self, response: httpcore.Response, errors: AbstractContextManager[None]) -> None:
        self._response, self._errors = response, errors

    def __iter__(self) -> Iterator[bytes]:
        with self._errors:
            yield from self._response.iter_stream()

    def close(self) -> None:
        self._response.close()


def lines(response: httpx.Response) -> Iterator[bytes]:
    """The lines of a response that are not blank, as they come. From the first line on, the stall deadline applies.
    (httpx's own `iter_lines` also splits at characters that JSON may contain, such as U+0085.)"""
    rest = bytearray()
    for part in response.iter_raw():
        rest += part
        if b"\n" in part:
            response.extensions["timer"].enter("stall")
            *whole, rest = rest.split(b"\n")
            yield from (bytes(line) for line in whole if line.strip())
    if rest.strip():
        yield bytes(rest)


def split_address(address: str) -> SplitResult:
    """Splits a server's address. Raises ConfigError if it is not an address, or contains a user name or password, which
    would be written to files. The error does not show them."""
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
    raise ConfigError("not a host's address", where=repr(address), hint=hint)
