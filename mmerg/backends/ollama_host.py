"""What an Ollama host has: which engine answers, what is loaded, and embeddings.

The `ollama` package knows the answers' fields; requests go over our own HTTP, as chat does. Every failure is a
`CallError`.

    with OllamaHost("http://127.0.0.1:11434") as host:
        engine = host.describe("qwen2.5vl:7b", load={"num_ctx": 12288})
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ollama import EmbedResponse, ListResponse, ProcessResponse, ShowResponse
from pydantic import BaseModel, TypeAdapter, ValidationError

from mmerg.backends.connection import Deadlines
from mmerg.backends.http import Count, Http
from mmerg.backends.load import Load
from mmerg.backends.protocol import Engine
from mmerg.backends.server_errors import OLLAMA
from mmerg.errors import CallError, Failure

# The server's options that decide how a model is loaded (api/types.go, Runner): a change of one reloads it.
LOAD_OPTIONS = {"num_ctx": 1, "num_batch": 1, "num_gpu": -1, "main_gpu": 0, "use_mmap": None, "num_thread": 0}


class _Version(BaseModel):
    version: str


@dataclass(frozen=True)
class Loaded:
    """A model in memory: bytes in all, bytes on the GPU, and the context in tokens that it was loaded with."""

    size: int
    size_vram: int
    context_length: int

    @property
    def spilled(self) -> bool:
        """Whether a part of the model runs on the CPU."""
        return self.size_vram < self.size


class OllamaHost(Http):
    """One host. Safe to call from several threads. `setting` names the option that holds its address, for hints. Raises
    ConfigError for what is no address."""

    def __init__(self, host: str, deadlines: Deadlines | None = None, setting: str = "backend.hosts") -> None:
        super().__init__(host, replace(OLLAMA, start=OLLAMA.start.replace("backend.hosts", setting)), deadlines)

    def serves(self, model: str) -> tuple[str, str]:
        """The server's version, and the digest of the manifest of `model`. Raises CallError, as all here."""
        version = self.told(_Version.model_validate_json, "/api/version").version
        digests = self.told(_digests, "/api/tags")
        wanted = next((name for name in names(model) if name in digests), None)
        if wanted is None:
            raise self.error(404, f"model '{model}' not found".encode(), model)
        return version, digests[wanted]

    def describe(self, model: str, load: Load) -> Engine:
        """The engine behind `model`: version, manifest digest, capabilities, context length."""
        version, digest = self.serves(model)
        shown = self.told(ShowResponse.model_validate_json, "/api/show", {"model": model}, model)
        info = shown.modelinfo or {}
        length = info.get(f"{info.get('general.architecture', '')}.context_length", 0)
        try:
            tokens = TypeAdapter(Count).validate_python(length, strict=True)
        except ValidationError as error:
            raise self.odd(f"the model's context length is {str(length)[:50]!r}") from error
        return Engine(
            backend="ollama",
            version=version,
            model=model,
            digest=digest,
            capabilities=tuple(shown.capabilities or ()),
            context_length=tokens,
            load=dict(load),
        )

    def loaded(self, model: str) -> Loaded | None:
        """How `model` sits in the host's memory now; None where it is not loaded."""
        listed = self.told(ProcessResponse.model_validate_json, "/api/ps").models
        entries = {full_name(entry.model or ""): entry for entry in listed}
        entry = next((entries[name] for name in names(model) if name in entries), None)
        if entry is None:
            return None
        return Loaded(int(entry.size or 0), int(entry.size_vram or 0), entry.context_length or 0)

    def embed(self, model: str, texts: Sequence[str], load: Load | None = None) -> list[list[float]]:
        """One vector for each text, L2-normalised by the server. Nothing is cut: a text that is too long fails all.

        load: an engine's; of it, only the server's own load options are sent.
        """
        if not texts:
            return []
        options = {name: value for name, value in (load or {}).items() if name in LOAD_OPTIONS}
        asked = {"model": model, "input": list(texts), "truncate": False, "options": options, "keep_alive": "30m"}
        told = self.told(EmbedResponse.model_validate_json, "/api/embed", asked, model, brief=False)
        vectors = [list(vector) for vector in told.embeddings]
        whole = all(len(v) == len(vectors[0]) > 0 and all(map(math.isfinite, v)) for v in vectors)
        if len(vectors) != len(texts) or not whole:
            what = f"{len(vectors)} vectors for {len(texts)} texts, or vectors that are no use"
            where = f"{self.host} model {model}"
            raise CallError(Failure.SERVER_ERROR, what, where=where, hint="use an embedding model")
        return vectors


@lru_cache(maxsize=8)  # it is asked for after every reply, and is mostly the same
def _digests(tags: bytes) -> Mapping[str, str]:
    """The digest of each model that a host lists, by full name."""
    models = ListResponse.model_validate_json(tags).models
    return {full_name(entry.model or ""): entry.digest or "" for entry in models}


def full_name(model: str) -> str:
    """`model` as servers list it: with its tag (`latest` where none is given), lower case, without `library/`."""
    name = model.lower().removeprefix("library/")
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def names(model: str) -> tuple[str, ...]:
    """The names under which a server may list `model`, the likeliest first. It leaves out the host (the first part,
    where that has a dot) of the place that models come from by default, and lists others with theirs."""
    host, slash, rest = model.partition("/")
    return (full_name(model), full_name(rest)) if slash and "." in host else (full_name(model),)
