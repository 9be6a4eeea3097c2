"""HTTP to one server, which is asked and answers in JSON: kept-alive connections, deadlines that hold, caps on what is
read, calls that can be broken off.

Only the look-up of a host's name outlasts a deadline. An idle connection that the server has closed is replaced once,
unseen. Every failure is a `CallError`. Follows no redirect, asks no proxy, and does not retry. What each server is
asked, `ollama_host.py` and `openai_host.py` know; `embedded_server.py` starts one of its own.

    with Http("http://127.0.0.1:11434", OLLAMA) as http, http.ask("/api/chat", {"model": "m"}) as answer:
        for line in answer.lines(): ...
"""

import json
import ssl
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Self, TypeVar

import h11
from pydantic import Field, ValidationError

from mmerg.backends.address import opened, split_host
from mmerg.backends.connection import LONGEST, Answer, Connection, Deadlines
from mmerg.backends.server_errors import Server
from mmerg.errors import CallError, ConfigError, Failure

BODY_BYTES = 2**26  # of an answer, where the caller names no other limit
ERROR_BYTES = 2**16  # of an error's text
ANSWER_BYTES, TOKEN_BYTES = 2**20, 2**12  # that a reply may have at all, and for each token that it may have
DRAIN_SECONDS = 0.2  # for the end of a body whose last line was read; then its connection can be used again

Count = Annotated[int, Field(ge=0, le=2**62)]
Told = TypeVar("Told")
Read = Callable[[bytes], Told]


class Http:
    """Requests to a host at `address`, from any thread, over connections that are kept. where: what errors call it, if
    not by its address. uds: the Unix socket on which it listens, in this process: as an idle connection would keep one
    of its few threads, none is kept. token: sent with each request, and shown by no error, as a server might repeat it.
    Raises ConfigError for what is no address."""

    def __init__(
        self,
        address: str,
        server: Server,
        deadlines: Deadlines | None = None,
        *,
        where: str = "",
        uds: str = "",
        token: str = "",
    ) -> None:
        self.host, self.closed = where or address, threading.Event()
        self._server, self._deadlines, self._uds, self._token = server, deadlines or Deadlines(), uds, token
        self._idle: list[Connection] = []
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()  # all, also those in use
        self._lock = threading.Lock()
        self._url = split_host(address)
        own = {"Host": self._url.netloc, "Content-Type": "application/json"}
        own |= {"Authorization": f"Bearer {token}"} if token else {}
        own |= {"Connection": "close"} if uds else {}
        self._headers = h11.Request(method="GET", target="/", headers=list(own.items())).headers  # checked once
        self._trusted = ssl.create_default_context() if self._url.scheme == "https" else None
        weakref.finalize(self, _close, self._idle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def ask(
        self, path: str, body: object = None, model: str = "", *, brief: bool = False, room: int = BODY_BYTES
    ) -> Iterator[Answer]:
        """The answer to a GET, or to a POST of `body` as JSON, for as long as the block runs.

        brief: the whole answer must be there within the stall deadline. room: how many bytes the answer may have.
        Raises CallError: unreachable, timeout, runner_crash (the answer broke off), server_error (it is no HTTP, or too
        long), interrupted (by `close`), and what an answer says whose status is that of an error.
        """
        method, content = ("GET", b"") if body is None else ("POST", json.dumps(body).encode())
        headers = [*self._headers, ("Content-Length", str(len(content)))] if content else self._headers
        request = h11.Request(method=method, target=f"{self._url.path.rstrip('/')}{path}", headers=headers)
        end = time.monotonic() + (self._deadlines.stall if brief else self._deadlines.total)
        answer = self._sent(self._idle_one(), request, content, end, brief, room)
        try:
            with self._naming(answer):
                if answer.status != 200:
                    raise self.error(answer.status, answer.body()[:ERROR_BYTES], model)
                if not answer.fields.keys() & {b"content-length", b"transfer-encoding"}:
                    raise ConnectionError("it does not say how long it is")
                yield answer
            answer.until = min(answer.until, time.monotonic() + DRAIN_SECONDS)
            with suppress(OSError, h11.ProtocolError):
                deque(answer.parts(), maxlen=0)
        finally:
            self._put_back(answer)

    def told(self, read: Read[Told], path: str, body: object = None, model: str = "", brief: bool = True) -> Told:
        """What `read` makes of the whole answer."""
        with self.ask(path, body, model, brief=brief) as answer:
            return self.parsed(read, answer.body())

    def parsed(self, read: Read[Told], told: bytes) -> Told:
        """What `read` makes of an answer, or of a line of one. Raises CallError where it raises ValidationError."""
        try:
            return read(told)
        except ValidationError as error:
            what = f"the answer cannot be read: {error.errors()[0]['msg']}: {self.shown(told)[:100]!r}"
            raise self.odd(what) from (None if self._token else error)  # which shows the answer as it came

    def odd(self, what: str) -> CallError:
        """Something answers that is no such server, or one gone wrong."""
        return CallError(Failure.SERVER_ERROR, what, where=self.host, hint=self._server.address)

    def error(self, status: int, said: bytes, model: str = "") -> CallError:
        """What an answer of `status` means; 200 is an error inside an answer that began well."""
        return self._server.classify(status, self.shown(said), model=model, where=self.host)

    def shown(self, said: bytes) -> str:
        """As an error may show it."""
        text = said.decode(errors="replace")
        return text.replace(self._token, "***") if self._token else text

    def close(self) -> None:
        """Refuse new requests, break off those in flight, and close the connections."""
        with self._lock:
            self.closed.set()
            _close(self._idle)
            for connection in self._connections:
                connection.shut()

    def _sent(
        self, idle: Connection | None, request: h11.Request, content: bytes, end: float, brief: bool, room: int
    ) -> Answer:
        """The answer, its head read. Where the `idle` connection turns out to be dead, a new one is asked."""
        answer = Answer(idle or self._connect(end - time.monotonic()), self._deadlines, end, brief)
        try:
            with self._naming(answer):
                answer.send(request, content, room)
        except BaseException as error:
            self._put_back(answer)
            lost = isinstance(error, CallError) and error.failure is Failure.RUNNER_CRASH and not answer.received
            if idle and lost:
                return self._sent(None, request, content, end, brief, room)
            raise
        return answer

    def _put_back(self, answer: Answer) -> None:
        """Keep the connection for other requests, if it can serve them."""
        answer.stop.release(answer.connection.shut)
        with self._lock:
            if answer.connection.reusable() and not self.closed.is_set():
                self._idle.append(answer.connection)
            else:
                answer.connection.close()

    def _idle_one(self) -> Connection | None:
        """A connection that was used before and seems to be alive."""
        with self._lock:
            self._check_open()
            while self._idle:
                connection = self._idle.pop()
                if connection.silent():
                    return connection
                connection.close()
        return None

    def _connect(self, left: float) -> Connection:
        """A new connection, within `left` seconds or its deadline. Raises CallError unreachable."""
        patience = max(min(self._deadlines.connect, left, LONGEST), 0.001)
        try:
            connection = Connection(opened(self._url, self._uds, self._trusted, patience))
        except (OSError, UnicodeError) as error:
            self._check_open()
            what = f"no connection within {patience:g} s" if isinstance(error, TimeoutError) else error
            what = f"no {self._server.name} answers: {what}"
            raise CallError(Failure.UNREACHABLE, what, where=self.host, hint=self._server.start) from error
        with self._lock:
            self._connections.add(connection)
            if self.closed.is_set():
                connection.shut()
        return connection

    def _check_open(self) -> None:
        if self.closed.is_set():
            hint = "run again to take up from here"
            raise CallError(Failure.INTERRUPTED, "the backend is closed", where=self.host, hint=hint)

    @contextmanager
    def _naming(self, answer: Answer) -> Iterator[None]:
        """Raises CallError for what goes wrong with the request."""
        try:
            yield
        except (OSError, h11.ProtocolError) as error:
            self._check_open()
            answer.stop.check()
            raise self._failure(answer, error) from error

    def _failure(self, answer: Answer, error: Exception) -> CallError:
        if isinstance(error, TimeoutError):
            what = f"the {answer.phase} deadline of {getattr(self._deadlines, answer.phase):g} s passed"
            hint = f"raise {self._server.option}{answer.phase}, lower num_predict, or send fewer calls at once: waiting"
            return CallError(Failure.TIMEOUT, what, where=self.host, hint=f"{hint} in the server's queue counts")
        if isinstance(error, OSError) or answer.hung_up:
            hint = "see the server's log; it, or a proxy before it, died or hung up in mid-answer"
            return CallError(Failure.RUNNER_CRASH, f"the answer broke off: {error}", where=self.host, hint=hint)
        hint = f"check that the host's address and scheme are those of the {self._server.name}"
        return CallError(Failure.SERVER_ERROR, f"this is no answer: {error}"[:200], where=self.host, hint=hint)


def room(num_predict: int) -> int:
    """How many bytes a reply may have. Raises ConfigError where its tokens have no limit."""
    if num_predict <= 0:
        what = f"num_predict is {num_predict}: without a limit a model can talk for minutes"
        raise ConfigError(what, where="backbone.sampling", hint="set num_predict over 0")
    return ANSWER_BYTES + TOKEN_BYTES * num_predict


def _close(connections: Iterable[Connection]) -> None:
    for connection in connections:
        connection.close()
