"""The base class of backends that call a server. It checks load options, and that each completion is valid.

A completion does not name the engine that made it, and a server can be updated between two calls. The adapter therefore
identifies the server again after each completion, which takes a millisecond. The completion is valid only if the
server's version and the model's digest are still those of the first description.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import httpx
from pydantic import ValidationError

from mmerg.backends.http import Http
from mmerg.backends.protocol import Completion, Engine, Finish, Request, make_engine_error
from mmerg.errors import CallError, ConfigError, Failure

LoadOptions = Mapping[str, int | str | bool | float]
ResponseReader = Callable[[httpx.Response], Completion]


class Adapter(ABC):
    """A `Backend` for `model` at one server."""

    def __init__(self, server: Http, model: str) -> None:
        self.host, self.model = server.host, model
        self._server = server
        self._engine: Engine | None = None  # the first description

    @abstractmethod
    def _describe(self) -> Engine: ...

    @abstractmethod
    def _call(self, request: Request) -> Completion: ...

    @abstractmethod
    def _identify(self) -> tuple[str, str, *tuple[object, ...]]:
        """Returns the server's current version and the model's digest. Subclasses may add more."""

    def describe(self) -> Engine:
        """Returns the engine that the host serves now. Raises ConfigError if it does not support the settings."""
        engine = self._describe()
        self._engine = self._engine or engine
        return engine

    def complete(self, request: Request) -> Completion:
        """Returns the completion of the engine that was described first. Raises CallError model_not_found if the host
        now serves another engine."""
        engine = self._engine
        if request.images and not (engine or self.describe()).vision:
            what = f"model {self.model} has no vision, and the request has {len(request.images)} images"
            hint = "use a model with the capability vision, or describe frames in words"
            raise CallError(Failure.IMAGE_REJECTED, what, where=self.host, hint=hint)
        may_think = bool(request.sampling.stop) and self._may_think()
        completion = complete_with_stops(self._call, request, may_think)
        if engine:
            self._check_unchanged(engine)
        return completion

    def close(self) -> None:
        self._server.close()

    def _may_think(self) -> bool:
        """Returns True if the model may write thoughts before its completion."""
        engine = self._engine or self.describe()
        return "thinking" in engine.capabilities or engine.think

    def _check_unchanged(self, engine: Engine) -> None:
        version, digest, *_ = self._identify()
        if (version, digest) != (engine.version, engine.digest):
            raise make_engine_error(engine, engine.model_copy(update={"version": version, "digest": digest}), self.host)


def complete_with_stops(complete: Callable[[Request], Completion], request: Request, may_think: bool) -> Completion:
    """Returns the completion of `request`, whose stop texts are sent only to a model that does not think.

    A stop text would end thoughts, too. If a model turns out to think although `may_think` is false, the request is
    repeated without stop texts. Callers cut the completion at stop texts themselves.
    """
    without_stops = replace(request, sampling=replace(request.sampling, stop=()))
    if may_think:
        return complete(without_stops)
    completion = complete(request)
    only_thoughts = (completion.thinking or completion.removed) and not completion.text.strip()
    if only_thoughts and completion.finish is Finish.STOP and request.sampling.stop:
        return complete(without_stops)
    return completion


def post_chat(host: Http, path: str, body: Mapping[str, object], read: ResponseReader) -> Completion:
    """Makes a chat call. Returns the completion that `read` makes of the response."""
    start = time.monotonic()
    try:
        with host.post(path, body) as response:
            completion = read(response)
    except ValidationError as error:
        raise host.make_response_error(f"the completion cannot be read: {error.errors()[0]['msg']}") from None
    return completion.model_copy(update={"seconds": time.monotonic() - start, "host": host.host})


def check_load(load: LoadOptions, options: Collection[str], where: str) -> None:
    """Raises ConfigError if num_ctx is missing or a name is not in `options`."""
    unknown = ", ".join(load.keys() - set(options))
    if unknown or "num_ctx" not in load:
        what = f"unknown load option: {unknown}" if unknown else "num_ctx is not set"
        hint = f"backbone.load takes {', '.join(options)}; set num_ctx, the context in tokens (for example 12288)"
        raise ConfigError(what, where=where, hint=hint)
