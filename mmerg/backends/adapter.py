"""What the backends over a server share: which load options they take, and which replies count.

A reply does not name the engine that gave it, and a server can be updated between two calls. So the host is asked again
after each reply (a millisecond), which counts only if version and digest are those of the first description.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import httpx
from pydantic import ValidationError

from mmerg.backends.http import Http
from mmerg.backends.protocol import Engine, Finish, Reply, Request, engine_changed
from mmerg.backends.retry import retry
from mmerg.errors import CallError, ConfigError, Failure

CHECKS = 4  # tries of the check after a reply
ANSWER_BYTES, TOKEN_BYTES = 2**20, 2**12  # a reply may have so many, and so many more for each token allowed

Load = Mapping[str, int | str | bool | float]
Read = Callable[[httpx.Response], Reply]


class Adapter(ABC):
    """A `Backend` over `model` at one server. check_wait: seconds before the first retry of the check after a reply."""

    def __init__(self, server: Http, model: str, check_wait: float) -> None:
        self.host, self.model = server.host, model
        self._server, self._check_wait = server, check_wait
        self._engine: Engine | None = None  # the first description, which all replies must be of

    @abstractmethod
    def _describe(self) -> Engine: ...

    @abstractmethod
    def _ask(self, request: Request) -> Reply: ...

    @abstractmethod
    def _serves(self) -> tuple[str, str, *tuple[object, ...]]:
        """The server's version and the digest of the model, now; what follows is the subclass's own."""

    def describe(self) -> Engine:
        """The engine that the host serves now. Raises ConfigError where it cannot do what the settings ask for."""
        engine = self._describe()
        self._engine = self._engine or engine
        return engine

    def complete(self, request: Request) -> Reply:
        """The reply of the engine of the first description. Raises CallError model_not_found where the host has another
        one now."""
        engine = self._engine
        if request.images and not (engine or self.describe()).vision:
            what = f"model {self.model} has no vision, and the request has {len(request.images)} images"
            hint = "use a model with the capability vision, or describe frames in words"
            raise CallError(Failure.IMAGE_REJECTED, what, where=self.host, hint=hint)
        may_think = bool(request.sampling.stop) and self._may_think()
        reply = ask_with_stops(self._ask, request, may_think)
        if engine:
            retry(lambda: self._check_still(engine), CHECKS, self._check_wait, self._server.closed)
        return reply

    def close(self) -> None:
        self._server.close()

    def _may_think(self) -> bool:
        """Whether the model may write thoughts before its words."""
        engine = self._engine or self.describe()
        return "thinking" in engine.capabilities or engine.think

    def _check_still(self, engine: Engine) -> None:
        version, digest, *_ = self._serves()
        if (version, digest) != (engine.version, engine.digest):
            raise engine_changed(engine, engine.model_copy(update={"version": version, "digest": digest}), self.host)


def ask_with_stops(ask: Callable[[Request], Reply], request: Request, may_think: bool) -> Reply:
    """The reply to `request`. Servers end thoughts at a stop text, too, so a model that may think is not sent any. If
    another model is found to think, it is asked again without them. The caller cuts the words at stop texts itself."""
    without = replace(request, sampling=replace(request.sampling, stop=()))
    reply = ask(without if may_think else request)
    only_thoughts = (reply.thinking or reply.taken) and not reply.text.strip()
    if only_thoughts and reply.finish is Finish.STOP and request.sampling.stop and not may_think:
        return ask(without)
    return reply


def reply_to(server: Http, path: str, body: Mapping[str, object], num_predict: int, read: Read) -> Reply:
    """The reply that `read` makes of the response to a chat call. Raises ConfigError for a call without a limit."""
    if num_predict <= 0:
        what = f"num_predict is {num_predict}: without a limit a model may write for minutes"
        raise ConfigError(what, where="backbone.sampling", hint="set num_predict above 0")
    begin = time.monotonic()
    try:
        with server.post(path, body, ANSWER_BYTES + TOKEN_BYTES * num_predict) as response:
            reply = read(response)
    except ValidationError as error:
        raise server.unexpected(f"the reply cannot be read: {error.errors()[0]['msg']}") from None
    return reply.model_copy(update={"seconds": time.monotonic() - begin, "host": server.host})


def check_load(load: Load, least: Load, where: str) -> None:
    """Raises ConfigError where num_ctx is missing, and for options that are not in `least`, or whose value is below the
    one there or of another type."""
    wrong = [f"{name}={value}" for name, value in load.items() if not _is_option(value, least.get(name))]
    if wrong or "num_ctx" not in load:
        takes = ", ".join(
            f"{name} ({'true or false' if low is False else f'from {low}'})" for name, low in least.items()
        )
        what = f"unknown load option, or invalid value: {', '.join(wrong)}" if wrong else "num_ctx is not set"
        hint = f"backbone.load takes {takes}; num_ctx, the context in tokens, must be given (12288, say)"
        raise ConfigError(what, where=where, hint=hint)


def _is_option(value: Any, least: Any) -> bool:
    return type(value) is type(least) and value >= least  # to isinstance a bool is an int, too
