"""One connection to a server, and one request over it. h11 parses the bytes; the socket waits only as long as the
deadlines allow.

So a server that is silent, slow or stalls cannot outlast a deadline, and a torn body is not taken for a whole one.
Errors are OSError or `h11.ProtocolError`. `http.py` gives them names, keeps connections and breaks them off.
"""

import select
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

import h11

from mmerg.backends.stop import Stop
from mmerg.errors import ConfigError

HEAD_BYTES = 2**20  # of a head, with the interim ones before it
LINE_BYTES = 2**24
READ_BYTES = 2**16  # at once
TOO_LONG = "the answer, or a line of it, is too long"


@dataclass(frozen=True)
class Deadlines:
    """Seconds: to connect; from the request to the first line (the server's queue and the prompt's evaluation count);
    between two lines; and for the whole call."""

    connect: float = 5.0
    first_token: float = 600.0
    stall: float = 120.0
    total: float = 1200.0


class Timer:
    """The deadlines of one request from now on. A `brief` one must be answered within the stall deadline."""

    def __init__(self, deadlines: Deadlines, brief: bool) -> None:
        self._deadlines = deadlines
        first, self._total = ("stall", "stall") if brief else ("first_token", "total")
        self._end = self._until = time.monotonic() + float(getattr(deadlines, self._total))
        self.enter(first)

    def enter(self, phase: str, seconds: float | None = None) -> None:
        """From now on the deadline called `phase` holds, or that of so many `seconds`."""
        seconds = getattr(self._deadlines, phase) if seconds is None else seconds
        self._until = min(time.monotonic() + seconds, self._end)
        self.phase = self._total if self._until == self._end else phase

    def left(self) -> float:
        """Seconds to the deadline that passes first. Raises TimeoutError where there are none."""
        if (left := self._until - time.monotonic()) <= 0:
            raise TimeoutError
        return left


class Connection:
    """A socket with the state of the HTTP over it."""

    def __init__(self, opened: socket.socket) -> None:
        self.socket, self.protocol = opened, h11.Connection(h11.CLIENT, HEAD_BYTES)

    def silent(self) -> bool:
        """Whether there is nothing to read: the server has not hung up, and sent nothing without a request."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return not poll.poll(0)

    def reusable(self) -> bool:
        """Whether the answer has ended and nothing came after it, so that another request may follow."""
        done = self.protocol.our_state is self.protocol.their_state is h11.DONE
        if done := done and not self.protocol.trailing_data[0]:
            self.protocol.start_next_cycle()
        return done

    def shut(self) -> None:
        """End both directions from any thread; a read that waits returns."""
        with suppress(OSError):  # the server was quicker
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)  # ssl's would take the session from under the reader


class Answer:
    """The answer to one request, for one thread. status, kind: its status and media type. sized: whether it says how
    long it is. received: bytes so far. stops: what can break it off."""

    def __init__(self, connection: Connection, timer: Timer, stops: Sequence[Stop]) -> None:
        self.connection, self.timer, self.stops = connection, timer, stops
        self.received, self._most = 0, HEAD_BYTES
        self.hung_up = False  # the server closed its side

    def send(self, request: h11.Request, content: bytes, most: int) -> None:
        """Send the request and wait for the head of the answer, whose body may have `most` bytes."""
        protocol = self.connection.protocol
        data = protocol.send(request) + (protocol.send(h11.Data(data=content)) if content else b"")
        self.connection.socket.settimeout(self.timer.left())
        try:
            self.connection.socket.sendall(data)
            protocol.send(h11.EndOfMessage())  # no bytes: the head says how long the request is
        except TimeoutError:
            raise
        except OSError:  # the server takes no more, and may have said why: that is read next
            protocol.send_failed()
        while not isinstance(response := self._event(), h11.Response):
            pass
        self.status, fields = response.status_code, dict(response.headers)  # by names in lower case
        self.kind = fields.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
        self.sized = bool(fields.keys() & {b"content-length", b"transfer-encoding"})
        self._most = self.received + most

    def lines(self) -> Iterator[bytes]:
        """The lines of the body that are not blank. Ends where the body ends whole; a torn body is an error."""
        rest = bytearray()
        for part in self.parts():
            rest += part
            if b"\n" in part:
                self.timer.enter("stall")
                *whole, rest = rest.split(b"\n")
                yield from (bytes(line) for line in whole if line.strip())
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
            self.connection.socket.settimeout(self.timer.left())
            data = self.connection.socket.recv(READ_BYTES)
            self.received += len(data)
            self.hung_up = not data
            if not self.received:
                raise ConnectionError("the server hung up")
            if self.received > self._most:
                raise h11.RemoteProtocolError(TOO_LONG)
            self.connection.protocol.receive_data(data)
        return event


def open_socket(url: SplitResult, file: str, trusted: ssl.SSLContext | None, patience: float) -> socket.socket:
    """A connection within `patience` seconds, to the Unix socket `file` where it is given. Raises OSError, and
    UnicodeError for a name that no host can have."""
    if file:
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(patience)
        connected.connect(file)
        return connected
    host = url.hostname or ""
    connected = socket.create_connection((host, url.port or (443 if trusted else 80)), patience)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    return trusted.wrap_socket(connected, server_hostname=host) if trusted else connected


def split_address(address: str) -> SplitResult:
    """The parts of a server's address: http or https, a name, maybe a port and a path before the API's.

    Raises ConfigError where it is no address, or holds a user name or password, which would be written into files. The
    error does not show them.
    """
    hint = "write it like http://127.0.0.1:11434"
    if "@" in address:
        masked = repr(f"{address.partition('//')[0]}//***@{address.rpartition('@')[2]}")
        what = "a host's address may hold no user name or password: it is written into runs, reports and errors"
        raise ConfigError(what, where=masked, hint=f"{hint}; a proxy before the server may know it by its address")
    with suppress(ValueError):
        url = urlsplit(address)
        printable = address.isascii() and address.isprintable() and " " not in address
        if printable and url.scheme in {"http", "https"} and url.hostname and url.port != 0 and not url.query:
            return url
    raise ConfigError("not a host's address", where=repr(address), hint=hint)
