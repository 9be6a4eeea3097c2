"""Embeds texts with any embedding model that Ollama serves, on one host or on several that hold the same model.

Each text is sent alone, so that its vector does not depend on what else is asked.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Protocol

from mmerg.errors import ConfigError, SampleError
from mmerg.memory.vectors import Vectors, unit

WHERE = "memory.embedder.hosts"


class Host(Protocol):
    """One host: the version of its server and the digest of a model, and vectors. Both raise CallError."""

    def serves(self, model: str) -> tuple[str, str]: ...
    def embed(self, model: str, texts: Sequence[str]) -> Sequence[Sequence[float]]: ...


class Ollama:
    """Texts go in turn to the hosts that were found with the same model. One that fails is set aside and asked only
    where all others failed, too, and then not before it is found with that model again: no vector is of another one."""

    def __init__(self, model: str, hosts: Sequence[str], connect: Callable[[str], Host]) -> None:
        self._model = model
        self._hosts = {host: connect(host) for host in hosts}
        self._aside = set(hosts)  # until they are found with the model
        self._turn = count()
        self._lock = threading.Lock()
        self._identity = ""

    def identity(self) -> str:
        """Raises ConfigError where there is no host or two hold different models, CallError where none answers."""
        if not self._hosts:
            raise ConfigError(f"{WHERE} is empty", where="configuration", hint=f"{WHERE}=[http://127.0.0.1:11434]")
        with self._lock:
            for host in () if self._identity else self._hosts:
                try:
                    self._check(host)
                except SampleError as error:
                    failed = error
            if not self._identity:
                raise failed
            return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises what `identity` raises, also later, where a host that was set aside holds another model now."""
        self.identity()
        with ThreadPoolExecutor(len(self._hosts)) as threads:
            return unit(list(threads.map(self._vector, texts)))

    def _vector(self, text: str) -> Sequence[float]:
        good = [host for host in self._hosts if host not in self._aside]
        turn = next(self._turn) % max(len(good), 1)
        for host in (*good[turn:], *good[:turn], *(self._hosts.keys() - good)):
            try:
                if host not in good:
                    self._check(host)
                [vector] = self._hosts[host].embed(self._model, [text])
            except SampleError as error:
                failed = error
                self._aside.add(host)
            else:
                return vector
        raise failed

    def _check(self, host: str) -> None:
        """Take the host in if it holds the model; the first one says which that is. Raises CallError or ConfigError."""
        version, digest = self._hosts[host].serves(self._model)
        told = {"kind": "ollama", "model": self._model, "digest": digest, "version": version}
        identity = json.dumps(told, sort_keys=True)
        if self._identity not in ("", identity):
            what = f"the hosts do not hold the same model {self._model}: {host} has {identity}, not {self._identity}"
            raise ConfigError(what, where=WHERE, hint="pull the same model with the same version of Ollama on each")
        self._identity = identity
        self._aside.discard(host)
