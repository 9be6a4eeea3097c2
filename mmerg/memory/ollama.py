"""Embeds texts with an embedding model on Ollama, on one host or on several with the same model.

Each text is sent alone, one at a time per host, so that no vector depends on other texts. As for chat calls, a `Pool`
retries a call, moves it to another host, and waits for lost hosts.
"""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Protocol

from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Engine, Finish, Message, Reply, Request, Sampling
from mmerg.errors import ConfigError
from mmerg.memory.vectors import Vectors, unit


class Server(Protocol):
    """A host. `identify` returns the server's version and the model's digest. Both methods raise CallError."""

    def identify(self, model: str) -> tuple[str, str]: ...
    def embed(self, model: str, texts: Sequence[str]) -> Sequence[Sequence[float]]: ...
    def close(self) -> None: ...


class _Embedding:
    """The model on one host as a Backend for `Pool`. Its reply to a text is the vector as JSON."""

    def __init__(self, server: Server, model: str) -> None:
        self._server, self._model = server, model
        self.close = server.close

    def describe(self) -> Engine:
        version, digest = self._server.identify(self._model)
        return Engine(backend="ollama", version=version, model=self._model, digest=digest)

    def complete(self, request: Request) -> Reply:
        [vector] = self._server.embed(self._model, [request.messages[0].text])
        return Reply(text=json.dumps(vector), finish=Finish.STOP)


class Ollama:
    """connect: opens a host by its address. wait: seconds between two attempts. Raises ConfigError if there is no
    host."""

    def __init__(self, model: str, hosts: Sequence[str], connect: Callable[[str], Server], wait: float = 1.0) -> None:
        if not hosts:
            hint = "memory.embedder.hosts=[http://127.0.0.1:11434]"
            raise ConfigError("memory.embedder.hosts is empty", where="configuration", hint=hint)
        served = [Host(_Embedding(connect(host), model), 1, host) for host in hosts]
        self._pool = Pool(served, patience=600.0, wait=wait, attempts=3)

    def identity(self) -> str:
        """Raises ConfigError if two hosts have different models, CallError if no host answers."""
        known = self._engine.model_dump(include={"model", "digest", "version"})
        return json.dumps({"kind": "ollama"} | known, sort_keys=True)

    @cached_property
    def _engine(self) -> Engine:
        return self._pool.describe()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises what `identity` raises, CallError if a text gets no vector, and RunError if no host comes back."""
        self.identity()
        with ThreadPoolExecutor(self._pool.slots) as threads:
            try:
                return unit(list(threads.map(self._vector, texts)))
            except KeyboardInterrupt:
                self.close()  # first, as leaving the block waits for the threads
                raise

    def close(self) -> None:
        """Refuse new calls and cancel those in flight."""
        self._pool.close()

    def _vector(self, text: str) -> list[float]:
        with self._pool.lease() as backend:
            vector: list[float] = json.loads(backend.complete(Request((Message("user", text),), Sampling())).text)
        return vector
