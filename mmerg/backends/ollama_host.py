"""An Ollama host, asked for its engine, its loaded models, and embeddings. Every failure is a `CallError`.

engine = OllamaHost("http://127.0.0.1:11434").describe("qwen2.5vl:7b", load={"num_ctx": 12288})
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from mmerg.backends.adapter import LoadOptions
from mmerg.backends.http import Deadlines, Http
from mmerg.backends.protocol import Engine
from mmerg.backends.server_errors import OLLAMA
from mmerg.backends.thinking import may_think
from mmerg.errors import CallError, Failure

if TYPE_CHECKING:
    from ollama import ListResponse, ProcessResponse

# The options with which the server loads a model (`Runner` in api/types.go).
LOAD_OPTIONS = ("num_ctx", "num_batch", "num_gpu", "main_gpu", "use_mmap", "num_thread")

Result = TypeVar("Result")
ListedModel = TypeVar("ListedModel", "ListResponse.Model", "ProcessResponse.Model")


class _Version(BaseModel):
    version: str


class OllamaHost(Http):
    """An Ollama host. setting: the name of the setting with its address, for hints."""

    def __init__(self, host: str, deadlines: Deadlines | None = None, setting: str = "backend.hosts") -> None:
        super().__init__(host, replace(OLLAMA, start=OLLAMA.start.replace("backend.hosts", setting)), deadlines)
        import ollama  # here, because it takes half a second

        self._ollama = ollama.Client(host, transport=self, follow_redirects=False, trust_env=False)

    def identify(self, model: str) -> tuple[str, str]:
        """Returns the server's version and the digest of the manifest of `model`."""
        version = self.read(_Version.model_validate_json, "/api/version").version  # ollama.Client has no method for it
        listed = _find(self._call(self._ollama.list).models, model)
        if listed is None:
            raise self.make_status_error(404, f"model '{model}' not found".encode(), model)
        return version, listed.digest or ""

    def describe(self, model: str, load: LoadOptions) -> Engine:
        version, digest = self.identify(model)
        shown = self._call(lambda: self._ollama.show(model))
        info = shown.modelinfo or {}
        capabilities = tuple(shown.capabilities or ())
        if "thinking" not in capabilities and may_think(shown.template or ""):
            capabilities = (*capabilities, "thinking")
        fields = {
            "backend": "ollama",
            "version": version,
            "model": model,
            "digest": digest,
            "capabilities": capabilities,
            "context_length": info.get(f"{info.get('general.architecture')}.context_length") or 0,
            "load": load,
        }
        return self._call(lambda: Engine.model_validate(fields))

    def find_loaded(self, model: str) -> ProcessResponse.Model | None:
        """Returns how `model` is loaded now (sizes in bytes), or None if it is not loaded."""
        return _find(self._call(self._ollama.ps).models, model)

    def embed(self, model: str, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Returns a vector for each text, L2-normalised by the server. A text that is too long fails the call."""
        sent = [text.encode(errors="replace").decode() for text in texts]  # a lone surrogate cannot be sent
        vectors = self._call(lambda: self._ollama.embed(model, sent, truncate=False, keep_alive="30m")).embeddings
        if len(vectors) != len(texts):
            what, where = f"{len(vectors)} vectors for {len(texts)} texts", f"{self.host} model {model}"
            raise CallError(Failure.SERVER_ERROR, what, where=where, hint="use an embedding model")
        return vectors

    def _call(self, call: Callable[[], Result]) -> Result:
        try:
            return call()
        except (ValueError, TypeError, RecursionError) as error:
            raise self.make_response_error(f"the response cannot be read: {str(error)[:200]}") from error


def _find(listed: Sequence[ListedModel], model: str) -> ListedModel | None:
    name = normalize_model_name(model)
    return next((entry for entry in listed if normalize_model_name(entry.model or "") == name), None)


def normalize_model_name(model: str) -> str:
    """Returns a name as servers list it: with a tag (`latest` by default), in lower case, without `library/`."""
    name = model.lower().removeprefix("library/")
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"
