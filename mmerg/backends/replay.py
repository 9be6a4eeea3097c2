"""Answers from the reply cache alone, where there is no server to ask.

The engine is part of a reply's key, and without a server nobody says which it is: it comes from a run's manifest, or
`stored_engine` finds it in the cache. Hits are what the run got. A call that is not there is a CallError (not_cached),
so its sample fails and the others go on.

    engine = stored_engine(path, backend="ollama", model="qwen2.5vl:7b", load={"num_ctx": 12288, "think": False})
    pool = Pool([Host(Cache(Replay(engine), path, "read"), slots, "the cache")])
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from mmerg.backends.cache import Cache
from mmerg.backends.protocol import Engine, Reply, Request
from mmerg.backends.scripted import Scripted
from mmerg.errors import CallError, ConfigError, Failure


class Replay:
    """The `inner` of a cache in mode read: says which engine it stands for, and has no reply of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def describe(self) -> Engine:
        return self._engine

    def complete(self, request: Request) -> Reply:
        what = f"this call is not in the cache: {request.digest()[:12]}"
        hint = "start the server, or give cache=on with one, to have it answered"
        raise CallError(Failure.NOT_CACHED, what, where=self._engine.brief(), hint=hint)

    def close(self) -> None:
        """Nothing is held."""


def stored_engine(path: Path, backend: str, model: str, load: Mapping[str, int | str | bool | float]) -> Engine:
    """The one engine of `backend` and `model` in the cache at `path` that was loaded with `load` (and maybe more).

    Raises ConfigError where there is none, or several (such as two versions of a server), naming what is there.
    """
    with closing(Cache(Scripted([]), path, "read")) as cache:
        found = cache.engines()
    alike = [engine for engine in found if (engine.backend, engine.model) == (backend, model)]
    fitting = [engine for engine in alike if load.items() <= engine.load.items()]
    if len(fitting) == 1:
        return fitting[0]
    told = "; ".join(engine.brief() for engine in fitting or alike or found) or "no engine"
    what = f"the cache holds replies of {len(fitting) or 'no'} engines that could be meant by {model} on {backend}"
    hint = "start the server, so that it says which it is"
    raise ConfigError(f"{what}: {told}", where=str(path), hint=hint)
