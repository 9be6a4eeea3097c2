"""An httpx client of one server, whose every failure is a `CallError`.

http = Http("http://127.0.0.1:11434", OLLAMA)
with http.post("/api/chat", {"model": "m"}) as response:
    for line in lines(response): ...
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import SplitResult, urlsplit

from pydantic import ValidationError

from mmerg.backends.deadlines import Deadlines
from mmerg.backends.server_errors import Server
from mmerg.backends.stop import Stop
from mmerg.errors import CallError, ConfigError, Failure

if TYPE_CHECKING:
    import httpx

__all__ = ["Deadlines", "Http", "lines"]

Parsed = TypeVar("Parsed")


class Http:
    """Requests to the host at `address`, from any thread. where: the name of the host in errors, its address by
    default. file: the Unix socket of a server in this process. token: sent with each request, and shown in no error.
    Raises ConfigError if `address` is not one."""

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
        import httpx  # takes a third of a second

        from mmerg.backends.transport import Transport

        self.host, self.closed = where or address, Stop()
        self._server, self._token = server, token
        self.transport = Transport(
            server, deadlines or Deadlines(), self.closed, self.host, tls=url.scheme == "https", token=token, file=file
        )
        json_body = {"Content-Type": "application/json"}
        self._client = httpx.Client(base_url=address, headers=json_body, transport=self.transport, trust_env=False)

    def post(self, path: str, body: object, most: int | None = None) -> AbstractContextManager[httpx.Response]:
        """The response to a POST of `body` as JSON, which is read in the block. most: the bytes that it may have."""
        limits = {} if most is None else {"most": most}
        return self._client.stream("POST", path, content=json.dumps(body), extensions=limits)

    def read(self, parse: Callable[[bytes], Parsed], path: str) -> Parsed:
        """What `parse` makes of the whole response to a GET, which must come within the stall deadline."""
        return self.parse(parse, self._client.get(path).content)

    def parse(self, parse: Callable[[bytes], Parsed], data: bytes) -> Parsed:
        """What `parse` makes of a response, or of a line of one. Raises CallError if it raises ValidationError."""
        try:
            return parse(data)
        except ValidationError as error:
            what = f"the response cannot be read: {error.errors()[0]['msg']}: {self.without_token(data)[:100]!r}"
            raise self.unexpected(what) from (None if self._token else error)  # which shows the response as it came

    def context_length(self, value: object) -> int:
        """A model's context in tokens as a response gives it, 0 for None. Raises CallError if it is not a number."""
        if value is None or (type(value) is int and 0 <= value <= 2**62):
            return value or 0
        raise self.unexpected(f"the model's context length is {str(value)[:50]!r}")

    def unexpected(self, what: str) -> CallError:
        """The error for a response that such a server does not give."""
        return CallError(Failure.SERVER_ERROR, what, where=self.host, hint=self._server.address)

    def error(self, status: int, data: bytes, model: str = "") -> CallError:
        """The error for a response of `status`; 200 stands for an error inside a response that began well."""
        return self._server.classify(status, self.without_token(data), model=model, where=self.host)

    def without_token(self, data: bytes) -> str:
        """The text of a response as an error may show it."""
        return self.transport.without_token(data.decode(errors="replace"))

    def close(self) -> None:
        """Refuse new requests, break off those in flight, and close the connections."""
        self.transport.close()


def lines(response: httpx.Response) -> Iterator[bytes]:
    """The lines of a response that are not blank, as they come. From the first on the stall deadline holds.

    Lines end with a line feed alone: httpx's own `iter_lines`, which ollama's client uses, also splits at characters
    that JSON may hold as they are (U+0085).
    """
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
    """The parts of a server's address: http or https, a name, maybe a port and a path before the API's.

    Raises ConfigError if it is not an address, or holds a user name or password, which would be written into files. The
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
