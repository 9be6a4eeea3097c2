"""One connection to a server: h11 says what its bytes mean, and its socket gets only the time that is left.

So no silent, dripping or stalled server outlasts a deadline, and a body that is torn is told from one that ends. Every
failure is a `CallError`. `http.py` opens connections, keeps them and breaks them off.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import h11

from mmerg.backends.stop import Stop, current
from mmerg.errors import CallError, Failure

HEAD_BYTES = 2**20  # of a head, with the interim ones before it
LINE_BYTES = 2**24
READ_BYTES = 2**16  # at once
LONGEST = 10**8  # seconds that a socket can wait
TOO_LONG = "the answer, or a line of it, is too long"


@dataclass(frozen=True)
class Deadlines:
    """Seconds: to connect; from the request to the first line (the server's queue and the prompt's evaluation count);
    between two lines; and for the whole call."""

    connect: float = 5.0
    first_token: float = 600.0
    stall: float = 120.0
    total: float = 1200.0


@dataclass
class Server:
    """What all connections to a server share. For errors: what it is called, where it is, what to do if it does not
    answer, and what its deadlines' names follow in the settings. closed: nobody may ask it any more."""

    name: str
    where: str
    start: str
    option: str
    deadlines: Deadlines
    closed: bool = False

    def interrupted(self) -> CallError:
        """It was closed, before or during a request."""
        hint = "run again to take up from here"
        return CallError(Failure.INTERRUPTED, "the backend is closed", where=self.where, hint=hint)


class Connection:
    """A connection that may be read and written until `until` (monotonic clock), no longer. received: bytes read since
    the request began, of which there may be `room`."""

    def __init__(self, server: Server, opened: socket.socket) -> None:
        self.protocol = h11.Connection(h11.CLIENT, HEAD_BYTES)
        self.received = self.room = 0
        self.until = self._end = 0.0
        self._server, self._socket = server, opened
        self._ended = False  # the server closed its side
        self._phase = self._total = ""
        self._stop = Stop()  # of the thread that asks

    def send(self, request: h11.Request, content: bytes, brief: bool, end: float, room: int) -> Answer:
        """Send it and wait for the head of the answer, the whole of which must be there at `end`."""
        self.received, self.room = 0, HEAD_BYTES
        self._end, self._total = end, "stall" if brief else "total"
        self.enter("stall" if brief else "first_token")
        self._stop = current()
        try:
            self._stop.hold(self)
            with self.naming():
                head = self.protocol.send(request)
                self._write(head + self.protocol.send(h11.Data(data=content)) if content else head)
                while not isinstance(response := self.event(), h11.Response):
                    pass
        except BaseException:
            self.close()
            raise
        self.room = self.received + room
        return Answer(self, response)

    def event(self) -> object:
        """What comes next: a head, a part of the body, or its end."""
        while (event := self.protocol.next_event()) is h11.NEED_DATA:
            self._allow_what_is_left()
            data = self._socket.recv(READ_BYTES)
            self.received += len(data)
            self._ended = not data
            if self._server.closed or not self.received:
                raise ConnectionError("the server hung up")
            if self.received > self.room:
                raise h11.RemoteProtocolError(TOO_LONG)
            self.protocol.receive_data(data)
        return event

    def enter(self, phase: str) -> None:
        """From now on the deadline called `phase` holds."""
        self._phase = phase
        self.until = min(time.monotonic() + getattr(self._server.deadlines, phase), self._end)

    def renew(self) -> bool:
        """Whether the answer has ended and nothing came behind it, so that another request may follow."""
        self._stop.release(self)
        done = self.protocol.our_state is self.protocol.their_state is h11.DONE
        if done := done and not self.protocol.trailing_data[0]:
            self.protocol.start_next_cycle()
        return done

    def silent(self) -> bool:
        """Whether there is nothing to read: the server neither hung up nor spoke unasked."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        self._stop.release(self)
        self._socket.close()

    def shut(self) -> None:
        """End both directions from any thread; a read that waits returns."""
        with suppress(OSError):  # the server was quicker
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # ssl's would take the session from under the reader

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Raises CallError for what goes wrong with the request."""
        try:
            yield
        except (OSError, h11.ProtocolError) as error:
            raise self.failure(error) from error

    def failure(self, error: Exception) -> CallError:
        """What `error` means for the request."""
        server, where = self._server, self._server.where
        if server.closed or self._stop.is_set():
            return server.interrupted()
        if isinstance(error, TimeoutError):
            phase = self._total if time.monotonic() >= self._end else self._phase
            what = f"the {phase} deadline of {getattr(server.deadlines, phase):g} s passed"
            hint = f"raise {server.option}{phase}, lower num_predict, or send fewer calls at once: waiting in the "
            return CallError(Failure.TIMEOUT, what, where=where, hint=f"{hint}server's queue counts")
        if isinstance(error, OSError) or self._ended:
            hint = "see the server's log; it, or a proxy before it, died or hung up in mid-answer"
            return CallError(Failure.RUNNER_CRASH, f"the answer broke off: {error}", where=where, hint=hint)
        hint = f"check that the host's address and scheme are those of the {server.name}"
        return CallError(Failure.SERVER_ERROR, f"this is no answer: {error}"[:200], where=where, hint=hint)

    def _write(self, request: bytes) -> None:
        self._allow_what_is_left()
        try:
            self._socket.sendall(request)
        except TimeoutError:
            raise
        except OSError:  # the server takes no more, and may have said why: that is read next
            self.protocol.send_failed()
        else:
            self.protocol.send(h11.EndOfMessage())  # no bytes: the head says how long the request is

    def _allow_what_is_left(self) -> None:
        left = self.until - time.monotonic()
        if left <= 0 or self._server.closed:
            raise TimeoutError
        self._socket.settimeout(min(left, LONGEST))


class Answer:
    """An answer whose head has come, for one thread. status, kind: its status and media type."""

    def __init__(self, connection: Connection, head: h11.Response) -> None:
        self.connection, self.status = connection, head.status_code
        self.fields = dict(head.headers)  # by names in lower case
        self.kind = self.fields.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")

    def lines(self) -> Iterator[bytes]:
        """The lines of the body that are not blank. Ends where the body ends whole; a torn body is a CallError."""
        rest = bytearray()
        for part in self.parts():
            rest += part
            if b"\n" in part:
                *whole, last = bytes(rest).split(b"\n")
                rest = bytearray(last)
                self.connection.enter("stall")
                yield from (line for line in whole if line.strip())
            if len(rest) > LINE_BYTES:
                raise self.connection.failure(h11.RemoteProtocolError(TOO_LONG))
        if rest.strip():
            yield bytes(rest)

    def body(self) -> bytes:
        return b"".join(self.parts())

    def parts(self) -> Iterator[bytes]:
        """The body as it comes, from where it was read to."""
        with self.connection.naming():
            while self.connection.protocol.their_state is h11.SEND_BODY:
                if isinstance(part := self.connection.event(), h11.Data):
                    yield bytes(part.data)
