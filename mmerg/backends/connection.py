"""One connection to a server, and one request over it: h11 says what its bytes mean, and its socket gets only the time
that is left.

So no silent, dripping or stalled server outlasts a deadline, and a body that is torn is told from one that ends. What
goes wrong is an OSError or an `h11.ProtocolError`; `http.py` names it, and keeps connections and breaks them off.
"""

import select
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import h11

from mmerg.backends.stop import current

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


class Connection:
    """A socket, and what was said over it so far."""

    def __init__(self, opened: socket.socket) -> None:
        self.socket, self.protocol = opened, h11.Connection(h11.CLIENT, HEAD_BYTES)

    def silent(self) -> bool:
        """Whether there is nothing to read: the server neither hung up nor spoke unasked."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return not poll.poll(0)

    def reusable(self) -> bool:
        """Whether the answer has ended and nothing came behind it, so that another request may follow."""
        done = self.protocol.our_state is self.protocol.their_state is h11.DONE
        if done := done and not self.protocol.trailing_data[0]:
            self.protocol.start_next_cycle()
        return done

    def shut(self) -> None:
        """End both directions from any thread; a read that waits returns."""
        with suppress(OSError):  # the server was quicker
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)  # ssl's would take the session from under the reader

    def close(self) -> None:
        self.socket.close()


class Answer:
    """The answer to one request, for one thread; it may be waited for until `until` (monotonic clock), no longer, and
    the whole of it must be there at `end`. status, kind: its status and media type. phase: the deadline that holds.
    received: bytes read so far."""

    def __init__(self, connection: Connection, deadlines: Deadlines, end: float, brief: bool) -> None:
        self.connection, self._deadlines, self._end = connection, deadlines, end
        self._total, first = ("stall", "stall") if brief else ("total", "first_token")
        self.received, self._room = 0, HEAD_BYTES
        self.hung_up = False  # the server closed its side
        self.stop = current()  # of the thread that asks
        self.enter(first)

    def send(self, request: h11.Request, content: bytes, room: int) -> None:
        """Send the request and wait for the head of the answer, whose body may have `room` bytes."""
        self.stop.hold(self.connection.shut)
        protocol = self.connection.protocol
        head = protocol.send(request)
        self._write(head + protocol.send(h11.Data(data=content)) if content else head)
        while not isinstance(response := self._event(), h11.Response):
            pass
        self.status, self.fields = response.status_code, dict(response.headers)  # by names in lower case
        self.kind = self.fields.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
        self._room = self.received + room

    def enter(self, phase: str) -> None:
        """From now on the deadline called `phase` holds."""
        self._phase = phase
        self.until = min(time.monotonic() + getattr(self._deadlines, phase), self._end)

    @property
    def phase(self) -> str:
        return self._total if time.monotonic() >= self._end else self._phase

    def lines(self) -> Iterator[bytes]:
        """The lines of the body that are not blank. Ends where the body ends whole; a torn body is an error."""
        rest = bytearray()
        for part in self.parts():
            rest += part
            if b"\n" in part:
                *whole, last = bytes(rest).split(b"\n")
                rest = bytearray(last)
                self.enter("stall")
                yield from (line for line in whole if line.strip())
            if len(rest) > LINE_BYTES:
                raise h11.RemoteProtocolError(TOO_LONG)
        if rest.strip():
            yield bytes(rest)

    def body(self) -> bytes:
        return b"".join(self.parts())

    def parts(self) -> Iterator[bytes]:
        """The body as it comes, from where it was read to."""
        while self.connection.protocol.their_state is h11.SEND_BODY:
            if isinstance(part := self._event(), h11.Data):
                yield bytes(part.data)

    def _event(self) -> object:
        """What comes next: a head, a part of the body, or its end."""
        while (event := self.connection.protocol.next_event()) is h11.NEED_DATA:
            self._allow_what_is_left()
            data = self.connection.socket.recv(READ_BYTES)
            self.received += len(data)
            self.hung_up = not data
            if not self.received:
                raise ConnectionError("the server hung up")
            if self.received > self._room:
                raise h11.RemoteProtocolError(TOO_LONG)
            self.connection.protocol.receive_data(data)
        return event

    def _write(self, request: bytes) -> None:
        self._allow_what_is_left()
        try:
            self.connection.socket.sendall(request)
        except TimeoutError:
            raise
        except OSError:  # the server takes no more, and may have said why: that is read next
            self.connection.protocol.send_failed()
        else:
            self.connection.protocol.send(h11.EndOfMessage())  # no bytes: the head says how long the request is

    def _allow_what_is_left(self) -> None:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.socket.settimeout(min(left, LONGEST))
