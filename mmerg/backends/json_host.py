"""A server that is asked and answers in JSON, over our own HTTP: every failure is a `CallError`.

What servers have in common; `ollama_host.py` and `openai_host.py` know what each is asked, `embedded_server.py` starts
one of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Self, TypeVar

from pydantic import Field, ValidationError

from mmerg.backends.http import BODY_BYTES, Answer, Http
from mmerg.backends.server_errors import ServerErrors
from mmerg.errors import CallError, Failure

ERROR_BYTES = 2**16  # of an error's text
ANSWER_BYTES, TOKEN_BYTES = 2**20, 2**12  # that a reply may have at all, and for each token that it may have

Count = Annotated[int, Field(ge=0, le=2**62)]
Told = TypeVar("Told")
Read = Callable[[bytes], Told]


class JsonHost:
    """One host, called `host` in errors. Safe to call from several threads. secret: what no error may show, as a server
    might repeat it."""

    def __init__(self, http: Http, host: str, errors: ServerErrors, secret: str = "") -> None:
        self.host, self.http = host, http
        self._errors, self._secret = errors, secret

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and break off what is under way."""
        self.http.close()

    @contextmanager
    def ask(
        self, path: str, body: object = None, model: str = "", *, brief: bool = False, room: int = BODY_BYTES
    ) -> Iterator[Answer]:
        """The answer to a GET, or to a POST of `body` as JSON. Raises CallError, as `Http.ask` says and where the
        answer's status is that of an error."""
        method, content = ("GET", b"") if body is None else ("POST", json.dumps(body).encode())
        with self.http.ask(method, path, content, brief=brief, room=room) as answer:
            if answer.status != 200:
                raise self.error(answer.status, answer.body()[:ERROR_BYTES], model)
            yield answer

    def told(
        self,
        read: Read[Told],
        path: str,
        body: object = None,
        model: str = "",
        brief: bool = True,
        room: int = BODY_BYTES,
    ) -> Told:
        """What `read` makes of the whole answer."""
        with self.ask(path, body, model, brief=brief, room=room) as answer:
            return self.parsed(read, answer.body())

    def parsed(self, read: Read[Told], told: bytes) -> Told:
        """What `read` makes of an answer, or of a line of one. Raises CallError where it raises ValidationError."""
        try:
            return read(told)
        except ValidationError as error:
            what = f"the answer cannot be read: {error.errors()[0]['msg']}: {self.shown(told)[:100]!r}"
            raise self.odd(what) from (None if self._secret else error)  # which shows the answer as it came

    def odd(self, what: str) -> CallError:
        """Something answers that is no such server, or one gone wrong."""
        return CallError(Failure.SERVER_ERROR, what, where=self.host, hint=self._errors.address)

    def error(self, status: int, said: bytes, model: str = "") -> CallError:
        """What an answer of `status` means; 200 is an error inside an answer that began well."""
        return self._errors.classify(status, self.shown(said), model=model, where=self.host)

    def shown(self, said: bytes) -> str:
        """As an error may show it."""
        text = said.decode(errors="replace")
        return text.replace(self._secret, "***") if self._secret else text


def room(num_predict: int) -> int:
    """How many bytes a reply may have."""
    return ANSWER_BYTES + TOKEN_BYTES * num_predict
