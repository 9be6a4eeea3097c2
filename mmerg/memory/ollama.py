"""Embeds texts with any embedding model that Ollama serves, on one host or on several that hold the same model.

How a host is asked is handed in (`describe` and `embed` of `mmerg.backends.ollama_models`), as the memory knows no
adapter. Each text is sent alone, so that its vector does not depend on what else is asked.

    embedder = Ollama("nomic-embed-text", ["http://127.0.0.1:11434"], describe, embed)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

from mmerg.errors import ConfigError, MmergError
from mmerg.memory.vectors import Vectors, unit


class Ollama:
    """describe(host, model, load={}) gives what has `model`, `version` and `digest`; embed(host, model, texts) gives
    vectors; both raise MmergError. Texts go to the hosts in turn; where one fails, the next is asked."""

    def __init__(
        self,
        model: str,
        hosts: Sequence[str],
        describe: Callable[..., Any],
        embed: Callable[[str, str, Sequence[str]], Sequence[Sequence[float]]],
    ) -> None:
        self._model, self._hosts = model, list(hosts)
        self._describe, self._embed = describe, embed
        self._turn = count()
        self._lock = threading.Lock()
        self._identity = ""

    def identity(self) -> str:
        """Raises ConfigError where there is no host or two hold different models, CallError where none answers."""
        with self._lock:
            self._identity = self._identity or self._identified()
            return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises CallError where no host answers."""
        if not self._hosts:
            raise _no_host()
        if len(texts) < 2:
            return unit([self._vector(text) for text in texts])
        with ThreadPoolExecutor(len(self._hosts)) as threads:
            return unit(list(threads.map(self._vector, texts)))

    def _vector(self, text: str) -> Sequence[float]:
        first = next(self._turn) % len(self._hosts)
        failed: MmergError | None = None
        for host in (*self._hosts[first:], *self._hosts[:first]):
            try:
                [vector] = self._embed(host, self._model, [text])
            except MmergError as error:
                failed = failed or error
            else:
                return vector
        assert failed is not None
        raise failed

    def _identified(self) -> str:
        if not self._hosts:
            raise _no_host()
        found: dict[str, str] = {}
        failed: MmergError | None = None
        for host in self._hosts:
            try:
                engine = self._describe(host, self._model, load={})
            except MmergError as error:
                failed = failed or error
                continue
            told = {"kind": "ollama", "model": engine.model, "digest": engine.digest, "version": engine.version}
            found[host] = json.dumps(told, sort_keys=True)
        if not found:
            assert failed is not None
            raise failed
        if len(set(found.values())) > 1:
            raise ConfigError(
                f"the hosts do not hold the same model {self._model}: "
                + "; ".join(f"{host} has {told}" for host, told in found.items()),
                where="memory.embedder.hosts",
                hint="pull the same model with the same version of Ollama on each",
            )
        return next(iter(found.values()))


def _no_host() -> ConfigError:
    return ConfigError(
        "memory.embedder.hosts is empty", where="configuration", hint="memory.embedder.hosts=[http://127.0.0.1:11434]"
    )
