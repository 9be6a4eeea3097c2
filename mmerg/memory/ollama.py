"""An embedder on Ollama, on one host or on several with the same model.

Each request has one text, and a host gets one request at a time, so that no vector depends on other texts. As with chat
calls, a `Pool` retries failed calls, moves them to another host, and waits for lost hosts.
"""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Completion, Engine, Finish, Message, Request, Sampling
from mmerg.memory.vectors import Vectors, scale_to_unit


class _EmbeddingBackend:
    """The model on one host as a Backend for `Pool`. Its completion of a text is the vector as JSON."""

    def __init__(self, host: str, model: str) -> None:
        self._server, self._model = OllamaHost(host, setting="memory.embedder.hosts"), model
        self.close = self._server.close

    def describe(self) -> Engine:
        version, digest = self._server.identify(self._model)
        return Engine(backend="ollama", version=version, model=self._model, digest=digest)

    def complete(self, request: Request) -> Completion:
        [vector] = self._server.embed(self._model, [request.messages[0].text])
        return Completion(text=json.dumps(vector), finish=Finish.STOP)


class Ollama:
    """An embedder on Ollama hosts, which are given by their addresses."""

    def __init__(self, model: str, hosts: Sequence[str]) -> None:
        self._pool = Pool([Host(_EmbeddingBackend(host, model), 1, host) for host in hosts], attempts=3)

    def identity(self) -> str:
        """Implements `Embedder`. Raises ConfigError if hosts have different models, CallError if no host responds."""
        model = self._engine.model_dump(include={"model", "digest", "version"})
        return json.dumps({"kind": "ollama"} | model, sort_keys=True)

    @cached_property
    def _engine(self) -> Engine:
        return self._pool.describe()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Implements `Embedder`. Raises the errors of `identity`, CallError if a text gets no vector, and RunError if
        no host comes back in time."""
        self.identity()
        with ThreadPoolExecutor(self._pool.slots) as threads:
            try:
                return scale_to_unit(list(threads.map(self._vector, texts)))
            except KeyboardInterrupt:
                self.close()  # first, as leaving the block waits for the threads
                raise

    def close(self) -> None:
        """Refuses new calls and cancels those in flight."""
        self._pool.close()

    def _vector(self, text: str) -> list[float]:
        with self._pool.lease() as backend:
            vector: list[float] = json.loads(backend.complete(Request((Message("user", text),), Sampling())).text)
        return vector
