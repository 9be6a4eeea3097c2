"""What an Ollama host has: which engine answers, what is loaded, and embeddings. Every failure is a `CallError`.

engine = OllamaHost("http://127.0.0.1:11434").describe("qwen2.5vl:7b", load={"num_ctx": 12288})
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from pydantic import BaseModel, FiniteFloat, JsonValue

from mmerg.backends.adapter import Load
from mmerg.backends.http import BODY_BYTES, Count, Deadlines, Http
from mmerg.backends.protocol import Engine
from mmerg.backends.server_errors import OLLAMA
from mmerg.errors import CallError, Failure

# The server's options that decide how a model is loaded (api/types.go, Runner): a change of one reloads it.
LOAD_OPTIONS = {"num_ctx": 1, "num_batch": 1, "num_gpu": -1, "main_gpu": 0, "use_mmap": None, "num_thread": 0}


class _Version(BaseModel):
    version: str


class Listed(BaseModel):
    """A model as a server lists it. size, size_vram: bytes of it in memory, and of these on the GPU; context_length:
    the tokens that it was loaded with."""

    model: str = ""
    digest: str = ""
    size: Count = 0
    size_vram: Count = 0
    context_length: Count = 0

    @property
    def spilled(self) -> bool:
        """Whether a part of the model runs on the CPU."""
        return self.size_vram < self.size


class _Models(BaseModel):
    models: list[Listed] | None


class _Details(BaseModel):
    capabilities: tuple[str, ...] | None = None
    model_info: dict[str, JsonValue] | None = None


class _Vectors(BaseModel):
    embeddings: list[list[FiniteFloat]]


class OllamaHost(Http):
    """One host. Safe to call from several threads. setting: the option that holds its address, for hints. Raises
    ConfigError where `host` is no address."""

    def __init__(self, host: str, deadlines: Deadlines | None = None, setting: str = "backend.hosts") -> None:
        super().__init__(host, replace(OLLAMA, start=OLLAMA.start.replace("backend.hosts", setting)), deadlines)

    def serves(self, model: str) -> tuple[str, str]:
        """The server's version, and the digest of the manifest of `model`. Raises CallError, as all here."""
        version = self.read(_Version.model_validate_json, "/api/version").version
        listed = _find(self.read(_models, "/api/tags"), model)
        if listed is None:
            raise self.error(404, f"model '{model}' not found".encode(), model)
        return version, listed.digest

    def describe(self, model: str, load: Load) -> Engine:
        """The engine behind `model`: version, manifest digest, capabilities, context length."""
        version, digest = self.serves(model)
        details = self.read(_Details.model_validate_json, "/api/show", {"model": model}, model)
        info = details.model_info or {}
        length = info.get(f"{info.get('general.architecture', '')}.context_length")
        return Engine(
            backend="ollama",
            version=version,
            model=model,
            digest=digest,
            capabilities=details.capabilities or (),
            context_length=self.context_length(length),
            load=dict(load),
        )

    def loaded(self, model: str) -> Listed | None:
        """How `model` sits in the host's memory now; None where it is not loaded."""
        return _find(self.read(_models, "/api/ps"), model)

    def embed(self, model: str, texts: Sequence[str], load: Load | None = None) -> list[list[float]]:
        """One vector for each text, L2-normalised by the server. No text is cut: if one is too long, all fail.

        load: an engine's; of it, only the server's own load options are sent.
        """
        options = {name: value for name, value in (load or {}).items() if name in LOAD_OPTIONS}
        body = {"model": model, "input": list(texts), "truncate": False, "options": options, "keep_alive": "30m"}
        vectors = self.read(_Vectors.model_validate_json, "/api/embed", body, model, BODY_BYTES).embeddings
        lengths = {len(vector) for vector in vectors}
        if len(vectors) != len(texts) or len(lengths) > 1 or 0 in lengths:
            what = f"{len(vectors)} vectors for {len(texts)} texts, or vectors that are no use"
            where = f"{self.host} model {model}"
            raise CallError(Failure.SERVER_ERROR, what, where=where, hint="use an embedding model")
        return vectors


@lru_cache(maxsize=8)  # asked for after every reply, and mostly the same
def _models(listed: bytes) -> Mapping[str, Listed]:
    """The models of a list, by full name."""
    return {full_name(entry.model): entry for entry in _Models.model_validate_json(listed).models or ()}


def _find(models: Mapping[str, Listed], model: str) -> Listed | None:
    return next((models[name] for name in names(model) if name in models), None)


def full_name(model: str) -> str:
    """`model` as servers list it: with its tag (`latest` where none is given), lower case, without `library/`."""
    name = model.lower().removeprefix("library/")
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def names(model: str) -> tuple[str, ...]:
    """The names under which a server may list `model`, the likeliest first. A model's name may begin with the host that
    it was pulled from (the first part, if it has a dot). The server lists it without the host if that is the
    default."""
    host, slash, rest = model.partition("/")
    return (full_name(model), full_name(rest)) if slash and "." in host else (full_name(model),)
