"""Embeds texts with any embedding model that Ollama serves, on one host or on several that hold the same model.

How a host is asked is handed in (`describe` and `embed` of `mmerg.backends.ollama_models`), as the memory knows no
adapter. Each text is sent alone, so that its vector does not depend on what else is asked.

    embedder = Ollama("nomic-embed-text", ["http://127.0.0.1:11434"], describe, embed)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Protocol

from mmerg.errors import ConfigError, SampleError
from mmerg.memory.vectors import Vectors, unit


class Described(Protocol):
    """A model at a host: its digest, and the version of the server."""

    @property
    def model(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def digest(self) -> str: ...


class Describe(Protocol):
    """Asks a host what it has. Raises CallError where it does not answer."""

    def __call__(self, host: str, model: str, load: Mapping[str, int | str | bool | float]) -> Described: ...


class Ollama:
    """embed(host, model, texts) gives vectors, or raises CallError.

    Texts go in turn to the hosts that were found with the same model. One that fails is set aside and asked only where
    all others failed, too, and then not before it is found with that model again: no vector is of another one.
    """

    def __init__(
        self,
        model: str,
        hosts: Sequence[str],
        describe: Describe,
        embed: Callable[[str, str, Sequence[str]], Sequence[Sequence[float]]],
    ) -> None:
        self._model, self._hosts = model, list(hosts)
        self._describe, self._embed = describe, embed
        self._aside = set(self._hosts)  # until they are found with the model
        self._turn = count()
        self._lock = threading.Lock()
        self._identity = ""

    def identity(self) -> str:
        """Raises ConfigError where there is no host or two hold different models, CallError where none answers."""
        with self._lock:
            self._identity = self._identity or self._identified()
            return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises what `identity` raises, also later, where a host that was set aside holds another model now."""
        self.identity()
        if len(texts) < 2:
            return unit([self._vector(text) for text in texts])
        with ThreadPoolExecutor(len(self._hosts)) as threads:
            return unit(list(threads.map(self._vector, texts)))

    def _vector(self, text: str) -> Sequence[float]:
        failed: SampleError | None = None
        for host, aside in self._order():
            try:
                if aside:
                    self._refuse_another(host)
                [vector] = self._embed(host, self._model, [text])
            except SampleError as error:
                failed = failed or error
                self._aside.add(host)
            else:
                self._aside.discard(host)
                return vector
        assert failed is not None
        raise failed

    def _order(self) -> list[tuple[str, bool]]:
        """The hosts from the next one on, those that are set aside last and marked."""
        first = next(self._turn)
        aside = self._aside.copy()
        good = [host for host in self._hosts if host not in aside]
        turn = first % len(good) if good else 0
        asked = [(host, False) for host in (*good[turn:], *good[:turn])]
        return asked + [(host, True) for host in self._hosts if host in aside]

    def _refuse_another(self, host: str) -> None:
        found = self._told(host)
        if found != self._identity:
            raise self._differ({"the memory": self._identity, host: found})

    def _identified(self) -> str:
        if not self._hosts:
            raise _no_host()
        found: dict[str, str] = {}
        failed: SampleError | None = None
        for host in self._hosts:
            try:
                found[host] = self._told(host)
            except SampleError as error:
                failed = failed or error
        if not found:
            assert failed is not None
            raise failed
        if len(set(found.values())) > 1:
            raise self._differ(found)
        self._aside -= set(found)
        return next(iter(found.values()))

    def _told(self, host: str) -> str:
        engine = self._describe(host, self._model, load={})
        told = {"kind": "ollama", "model": engine.model, "digest": engine.digest, "version": engine.version}
        return json.dumps(told, sort_keys=True)

    def _differ(self, found: Mapping[str, str]) -> ConfigError:
        return ConfigError(
            f"the hosts do not hold the same model {self._model}: "
            + "; ".join(f"{host} has {told}" for host, told in found.items()),
            where="memory.embedder.hosts",
            hint="pull the same model with the same version of Ollama on each",
        )


def _no_host() -> ConfigError:
    return ConfigError(
        "memory.embedder.hosts is empty", where="configuration", hint="memory.embedder.hosts=[http://127.0.0.1:11434]"
    )
