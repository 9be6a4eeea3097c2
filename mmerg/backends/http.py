"""HTTP with JSON to one server: connections are kept, deadlines hold, the size of answers is limited, and calls can be
broken off.

Only the look-up of a host's name can outlast a deadline. Where the server has closed an idle connection, a new one is
opened, once. Every failure is a `CallError`. Redirects are not followed, proxies not used, and nothing is retried.

    with Http("http://127.0.0.1:11434", OLLAMA).ask("/api/chat", {"model": "m"}, most=2**20) as answer:
        for line in answer.lines(): ...
"""

import json
import ssl
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, TypeVar

import h11
from pydantic import Field, ValidationError

from mmerg.backends.connection import Answer, Connection, Deadlines, Timer, open_socket, split_address
from mmerg.backends.server_errors import Server
from mmerg.backends.stop import Stop, current
from mmerg.errors import CallError, Failure

__all__ = ["Answer", "Count", "Deadlines", "Http"]

BODY_BYTES = 2**26  # of an answer, where the caller names no other limit
ERROR_BYTES = 2**16  # of an error's text
DRAIN_SECONDS = 0.2  # for the end of a body whose last line was read; then its connection can be used again

Count = Annotated[int, Field(ge=0, le=2**62)]
Parsed = TypeVar("Parsed")
Parse = Callable[[bytes], Parsed]


class _NoAnswerError(CallError):
    """The server hung up without a word."""


class Http:
    """Requests to the host at `address`, from any thread, over connections that are kept. where: the name of the host
    in errors, its address by default. file: the Unix socket of a server in this process. Its connections are not kept,
    as an idle one would block one of its few threads. token: sent with each request. No error shows it, though a server
    may repeat it. Raises ConfigError where `address` is none."""

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
        self.host, self.closed = where or address, Stop()
        self._server, self._deadlines, self._file, self._token = server, deadlines or Deadlines(), file, token
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._url = split_address(address)
        own = {"Host": self._url.netloc, "Content-Type": "application/json"}
        own |= {"Authorization": f"Bearer {token}"} if token else {}
        own |= {"Connection": "close"} if file else {}
        self._headers = h11.Request(method="GET", target="/", headers=list(own.items())).headers  # checked once
        self._trusted = ssl.create_default_context() if self._url.scheme == "https" else None
        weakref.finalize(self, _close, self._idle)

    @contextmanager
    def ask(self, path: str, body: object = None, model: str = "", *, most: int = 0) -> Iterator[Answer]:
        """The answer to a GET, or to a POST of `body` as JSON, for as long as the block runs.

        most: the bytes that a reply of the model may have; 0 for a short question about the server, which is to be
        answered within the stall deadline. Raises CallError: unreachable, timeout, runner_crash (the answer broke off),
        server_error (it is no HTTP, or too long), interrupted (by `close`), and what an answer says whose status is
        that of an error.
        """
        method, content = ("GET", b"") if body is None else ("POST", json.dumps(body).encode())
        headers = [*self._headers, ("Content-Length", str(len(content)))] if content else self._headers
        request = h11.Request(method=method, target=f"{self._url.path.rstrip('/')}{path}", headers=headers)
        timer, idle = Timer(self._deadlines, brief=not most), self._idle_connection()
        try:
            answer = self._send(idle or self._connect(timer), timer, request, content, most)
        except _NoAnswerError:
            if not idle:
                raise
            answer = self._send(self._connect(timer), timer, request, content, most)
        try:
            with self._errors_named(answer):
                if answer.status != 200:
                    raise self.error(answer.status, answer.body()[:ERROR_BYTES], model)
                if not answer.sized:
                    raise ConnectionError("it does not say how long it is")
                yield answer
            timer.enter("stall", DRAIN_SECONDS)
            with suppress(OSError, h11.ProtocolError):
                deque(answer.parts(), maxlen=0)
        finally:
            self._put_back(answer)

    def read(self, parse: Parse[Parsed], path: str, body: object = None, model: str = "", most: int = 0) -> Parsed:
        """What `parse` makes of the whole answer."""
        with self.ask(path, body, model, most=most) as answer:
            return self.parse(parse, answer.body())

    def parse(self, parse: Parse[Parsed], data: bytes) -> Parsed:
        """What `parse` makes of an answer, or of a line of one. Raises CallError where it raises ValidationError."""
        try:
            return parse(data)
        except ValidationError as error:
            what = f"the answer cannot be read: {error.errors()[0]['msg']}: {self.without_token(data)[:100]!r}"
            raise self.unexpected(what) from (None if self._token else error)  # which shows the answer as it came

    def context_length(self, value: object) -> int:
        """A model's context in tokens as an answer gives it, 0 for None. Raises CallError where it is no number."""
        if value is None or (type(value) is int and 0 <= value <= 2**62):
            return value or 0
        raise self.unexpected(f"the model's context length is {str(value)[:50]!r}")

    def unexpected(self, what: str) -> CallError:
        """The error for an answer that such a server does not give."""
        return CallError(Failure.SERVER_ERROR, what, where=self.host, hint=self._server.address)

    def error(self, status: int, data: bytes, model: str = "") -> CallError:
        """The error for an answer of `status`; 200 stands for an error inside an answer that began well."""
        return self._server.classify(status, self.without_token(data), model=model, where=self.host)

    def without_token(self, data: bytes) -> str:
        """The text of an answer as an error may show it."""
        text = data.decode(errors="replace")
        return text.replace(self._token, "***") if self._token else text

    def close(self) -> None:
        """Refuse new requests, break off those in flight, and close the connections."""
        self.closed.set()
        with self._lock:
            _close(self._idle)

    def _idle_connection(self) -> Connection | None:
        """A connection that was used before and seems to be alive."""
        self.closed.check()
        with self._lock:
            while self._idle:
                if (connection := self._idle.pop()).silent():
                    return connection
                connection.socket.close()
        return None

    def _connect(self, timer: Timer) -> Connection:
        """A new connection, within its deadline and the time that is left. Raises CallError unreachable."""
        patience = self._deadlines.connect
        try:
            patience = min(patience, timer.left())
            return Connection(open_socket(self._url, self._file, self._trusted, patience))
        except (OSError, UnicodeError) as error:
            self.closed.check()
            reason = f"no connection within {patience:g} s" if isinstance(error, TimeoutError) else error
            what = f"no {self._server.name} answers: {reason}"
            raise CallError(Failure.UNREACHABLE, what, where=self.host, hint=self._server.start) from error

    def _send(self, connection: Connection, timer: Timer, request: h11.Request, content: bytes, most: int) -> Answer:
        """The answer, its head read. From now on the connection is shut when a stop is set."""
        answer = Answer(connection, timer, (self.closed, current()))
        try:
            for stop in answer.stops:
                stop.hold(connection.shut)
            with self._errors_named(answer):
                answer.send(request, content, most or BODY_BYTES)
        except BaseException:
            self._put_back(answer)
            raise
        return answer

    def _put_back(self, answer: Answer) -> None:
        """Keep the connection for other requests, if it can serve them."""
        for stop in answer.stops:
            stop.release(answer.connection.shut)
        with self._lock:
            if answer.connection.reusable() and not self.closed.is_set():
                self._idle.append(answer.connection)
            else:
                answer.connection.socket.close()

    @contextmanager
    def _errors_named(self, answer: Answer) -> Iterator[None]:
        """Raises CallError for what goes wrong with the request."""
        try:
            yield
        except (OSError, h11.ProtocolError) as error:
            for stop in answer.stops:
                stop.check()
            raise self._failure(answer, error) from error

    def _failure(self, answer: Answer, error: Exception) -> CallError:
        if isinstance(error, TimeoutError):
            phase = answer.timer.phase
            what = f"the {phase} deadline of {getattr(self._deadlines, phase):g} s passed"
            hint = f"raise {self._server.option}{phase}, lower num_predict, or send fewer calls at once: waiting"
            return CallError(Failure.TIMEOUT, what, where=self.host, hint=f"{hint} in the server's queue counts")
        if isinstance(error, OSError) or answer.hung_up:
            hint = "see the server's log; it, or a proxy before it, died or hung up in mid-answer"
            kind = CallError if answer.received else _NoAnswerError
            return kind(Failure.RUNNER_CRASH, f"the answer broke off: {error}", where=self.host, hint=hint)
        hint = f"check that the host's address and scheme are those of the {self._server.name}"
        return CallError(Failure.SERVER_ERROR, f"this is no answer: {error}"[:200], where=self.host, hint=hint)


def _close(connections: list[Connection]) -> None:
    while connections:
        connections.pop().socket.close()
