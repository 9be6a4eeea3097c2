"""The common part of backends that call a server: load options, and which replies are valid.

A reply does not name its engine, and a server can be updated between two calls. So the host is described again after
each reply (a millisecond). The reply is valid only if version and digest are those of the first description.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import httpx
from pydantic import ValidationError

from mmerg.backends.http import Http
from mmerg.backends.protocol import Engine, Finish, Reply, Request, make_engine_error
from mmerg.backends.retry import retry
from mmerg.errors import CallError, ConfigError, Failure

CHECKS = 4  # attempts of the check after a reply
BASE_BYTES, TOKEN_BYTES = 2**20, 2**12  # limit of a response, and its increase for each token allowed

Load = Mapping[str, int | str | bool | float]
Read = Callable[[httpx.Response], Reply]


class Adapter(ABC):
    """A `Backend` over `model` at one server. check_wait: seconds before the first retry of the check after a reply."""

    def __init__(self, server: Http, model: str, check_wait: float) -> None:
        self.host, self.model = server.host, model
        self._server, self._check_wait = server, check_wait
        self._engine: Engine | None = None  # the first description

    @abstractmethod
    def _describe(self) -> Engine: ...

    @abstractmethod
    def _ask(self, request: Request) -> Reply: ...

    @abstractmethod
    def _serves(self) -> tuple[str, str, *tuple[object, ...]]:
        """The server's current version and the digest of the model; subclasses may add more."""

    def describe(self) -> Engine:
        """The engine that the host serves now. Raises ConfigError if it does not support the settings."""
        engine = self._describe()
        self._engine = self._engine or engine
        return engine

    def complete(self, request: Request) -> Reply:
        """The reply of the engine that was described first. Raises CallError model_not_found if the host serves another
        engine now."""
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
        """Whether the model may write thoughts before its reply."""
        engine = self._engine or self.describe()
        return "thinking" in engine.capabilities or engine.think

    def _check_still(self, engine: Engine) -> None:
        version, digest, *_ = self._serves()
        if (version, digest) != (engine.version, engine.digest):
            raise make_engine_error(engine, engine.model_copy(update={"version": version, "digest": digest}), self.host)


def ask_with_stops(ask: Callable[[Request], Reply], request: Request, may_think: bool) -> Reply:
    """The reply to `request`. Servers end thoughts at a stop text, too, so stop texts are not sent to a model that may
    think. If another model turns out to think, it is asked again without them. Callers cut replies at stop texts."""
    without = replace(request, sampling=replace(request.sampling, stop=()))
    reply = ask(without if may_think else request)
    only_thoughts = (reply.thinking or reply.taken) and not reply.text.strip()
    if only_thoughts and reply.finish is Finish.STOP and request.sampling.stop and not may_think:
        return ask(without)
    return reply


def reply_to(server: Http, path: str, body: Mapping[str, object], num_predict: int, read: Read) -> Reply:
    """Makes a chat call; `read` makes the reply from the response. Raises ConfigError for a call without a limit."""
    if num_predict <= 0:
        what = f"num_predict is {num_predict}: without a limit a model may write for minutes"
        raise ConfigError(what, where="backbone.sampling", hint="set num_predict above 0")
    begin = time.monotonic()
    try:
        with server.post(path, body, BASE_BYTES + TOKEN_BYTES * num_predict) as response:
            reply = read(response)
    except ValidationError as error:
        raise server.unexpected(f"the reply cannot be read: {error.errors()[0]['msg']}") from None
    return reply.model_copy(update={"seconds": time.monotonic() - begin, "host": server.host})


def check_load(load: Load, options: Collection[str], where: str) -> None:
    """Raises ConfigError if num_ctx is missing or a name is not in `options`."""
    unknown = ", ".join(load.keys() - set(options))
    if unknown or "num_ctx" not in load:
        what = f"unknown load option: {unknown}" if unknown else "num_ctx is not set"
        hint = f"backbone.load takes {', '.join(options)}; num_ctx, the context in tokens, is required (12288, say)"
        raise ConfigError(what, where=where, hint=hint)
