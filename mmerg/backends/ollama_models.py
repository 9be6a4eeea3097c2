"""What an Ollama host has and how it gets it: which engine answers, pull, create, what is loaded, embeddings.

Thin functions over the `ollama` package, which serves for all but chat (it cannot send `truncate` and `shift`) and
the version; with timeouts, which the package leaves out. Every failure is a `CallError`.

    engine = describe("http://127.0.0.1:11434", "qwen2.5vl:7b", load={"num_ctx": 12288})
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import httpx
import ollama
from pydantic import BaseModel

from mmerg.backends.ollama_errors import classify
from mmerg.backends.ollama_wire import split_host, unreachable
from mmerg.backends.protocol import Engine
from mmerg.errors import CallError, ConfigError, Failure

CONNECT_SECONDS = 5.0
READ_SECONDS = 60.0
SLOW_READ_SECONDS = 900.0  # a pull says nothing while it verifies, a create while it copies tens of gigabytes

# The server's options that decide how a model is loaded (api/types.go, Runner): a change of one reloads it.
LOAD_OPTIONS: Mapping[str, type] = MappingProxyType(
    {"num_ctx": int, "num_batch": int, "num_gpu": int, "main_gpu": int, "use_mmap": bool, "num_thread": int}
)


class Version(BaseModel):
    """What `/api/version` answers."""

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


def describe(
    host: str,
    model: str,
    load: Mapping[str, int | str | bool | float],
    connect: float = CONNECT_SECONDS,
    read: float = READ_SECONDS,
) -> Engine:
    """The engine behind `model` at `host`: version, manifest digest, capabilities, context length."""
    version = _version(host, connect, read)
    with _client(host, model, connect, read) as client:
        digest = digest_of(model, client.list(), host)
        shown = client.show(model)
    info = shown.modelinfo or {}
    length = info.get(f"{info.get('general.architecture', '')}.context_length", 0)
    return Engine(
        backend="ollama",
        version=version,
        model=model,
        digest=digest,
        capabilities=tuple(shown.capabilities or ()),
        context_length=int(length),
        load=dict(load),
    )


def digest_of(model: str, listed: ollama.ListResponse, host: str) -> str:
    """The manifest digest of `model` among what `host` lists. Raises CallError model_not_found."""
    digests = {full_name(entry.model or ""): entry.digest or "" for entry in listed.models}
    wanted = next((name for name in names(model) if name in digests), None)
    if wanted is None:
        raise classify(404, f"model '{model}' not found", model=model, where=host)
    return digests[wanted]


def full_name(model: str) -> str:
    """`model` as servers list it: with its tag (`latest` where none is given), lower case, without `library/`."""
    name = model.lower().removeprefix("library/")
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def names(model: str) -> tuple[str, ...]:
    """The names under which a server may list `model`, the likeliest first. It leaves out the host (the first part,
    where that has a dot) of the place that models come from by default, and lists others with theirs."""
    host, slash, rest = model.partition("/")
    return (full_name(model), full_name(rest)) if slash and "." in host else (full_name(model),)


def pull(host: str, model: str, progress: Callable[[str, int, int], None] | None = None) -> None:
    """Have the host download `model`. `progress` is told the server's status line, bytes done and bytes in all."""
    with _client(host, model, read=SLOW_READ_SECONDS) as client:
        last = ""
        for step in client.pull(model, stream=True):
            last = step.status or ""
            if progress:
                progress(last, step.completed or 0, step.total or 0)
    if last != "success":
        what = f"the pull ended without success, after {last!r}"
        raise CallError(Failure.RUNNER_CRASH, what, where=f"{host} model {model}", hint=f"ollama pull {model}")


def create_from_gguf(host: str, name: str, gguf: Path) -> None:
    """Make the model `name` at the host from a GGUF file on this machine."""
    if not gguf.is_file():
        raise ConfigError("no such GGUF file", where=str(gguf), hint="give the path of a GGUF file")
    with _client(host, name, read=SLOW_READ_SECONDS) as client:
        digest = client.create_blob(gguf)
        client.create(name, files={gguf.name: digest})


def loaded(host: str, model: str) -> Loaded | None:
    """How `model` sits in the host's memory now; None where it is not loaded."""
    with _client(host, model) as client:
        entries = {full_name(entry.model or ""): entry for entry in client.ps().models}
    entry = next((entries[name] for name in names(model) if name in entries), None)
    if entry is None:
        return None
    return Loaded(int(entry.size or 0), int(entry.size_vram or 0), entry.context_length or 0)


def embed(
    host: str,
    model: str,
    texts: Sequence[str],
    load: Mapping[str, int | str | bool | float] | None = None,
    keep_alive: str = "30m",
    read: float = READ_SECONDS,
) -> list[list[float]]:
    """One vector for each text, L2-normalised by the server. Nothing is cut: a text that is too long fails all.

    load: an engine's; of it, only the server's own load options are sent.
    """
    if not texts:
        return []
    options = {name: value for name, value in (load or {}).items() if name in LOAD_OPTIONS}
    with _client(host, model, read=read) as client:
        answer = client.embed(model, list(texts), truncate=False, options=options, keep_alive=keep_alive)
    vectors = [list(vector) for vector in answer.embeddings]
    if len(vectors) != len(texts):
        what = f"{len(vectors)} vectors for {len(texts)} texts"
        raise CallError(Failure.SERVER_ERROR, what, where=f"{host} model {model}", hint="use an embedding model")
    return vectors


def _version(host: str, connect: float, read: float) -> str:
    with _named_failures(host, ""):
        with httpx.Client(
            timeout=(connect, read, read, connect), trust_env=False, verify=_certificates(host)
        ) as client:
            answer = client.get(f"{host.rstrip('/')}/api/version")
        if answer.status_code != 200:
            raise classify(answer.status_code, answer.text, where=host)
        return Version.model_validate_json(answer.text).version


@contextmanager
def _client(
    host: str, model: str, connect: float = CONNECT_SECONDS, read: float = READ_SECONDS
) -> Iterator[ollama.Client]:
    split_host(host)
    # No proxy and no redirect: chat follows neither, and all calls must reach the same server.
    with (
        _named_failures(host, model),
        ollama.Client(
            host,
            timeout=(connect, read, read, connect),
            trust_env=False,
            follow_redirects=False,
            verify=_certificates(host),
        ) as client,
    ):
        yield client


def _certificates(host: str) -> ssl.SSLContext | bool:
    """None are read for plain HTTP, which no redirect leaves: that takes longer than the call."""
    return ssl.create_default_context() if host.startswith("https:") else False


@contextmanager
def _named_failures(host: str, model: str) -> Iterator[None]:
    try:
        yield
    except ollama.ResponseError as error:
        status = error.status_code if error.status_code > 0 else 200  # -1 is an error line in a stream
        raise classify(status, error.error, model=model, where=host) from error
    except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL) as error:
        raise unreachable(host, str(error) or type(error).__name__) from error
    except httpx.TimeoutException as error:
        what = f"no answer in time ({type(error).__name__})"
        raise CallError(Failure.TIMEOUT, what, where=host, hint="see whether the server is busy") from error
    except httpx.RequestError as error:
        hint = "see the server's log; it, or a proxy before it, hung up in mid-answer"
        raise CallError(Failure.RUNNER_CRASH, f"the answer broke off: {error}", where=host, hint=hint) from error
    except ValueError as error:  # JSON or a field that is not what Ollama sends
        hint = "check that the host's address is that of an Ollama server"
        what = f"the answer is not Ollama's: {str(error)[:200]}"
        raise CallError(Failure.SERVER_ERROR, what, where=host, hint=hint) from error
