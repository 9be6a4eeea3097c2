"""The interface between agents and a model: requests, completions, engines, and the `Backend` protocol.

The completion depends on the `Request` and on the `Engine` that serves it. Both the adapters to servers and the
wrappers around them (`cache.py`, `pool.py`) are backends.

    completion = backend.complete(Request((Message("user", "Hello"),), Sampling(num_predict=32)))
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from mmerg.backends.thinking import find_first_token, separate_thoughts
from mmerg.errors import CallError, Failure
from mmerg.settings.backbone import SEEDS

SHOWN_DIGEST = 12  # characters of a digest in messages


@dataclass(frozen=True, slots=True)
class Image:
    """A JPEG or PNG, identified by the hash of its content. Its bytes are never printed, compared or traced."""

    sha256: str
    data: bytes = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Message:
    """A chat message. Images come before the text."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True)
class Sampling:
    """The values of all samplers, so that no server default changes a result. A top_k or repeat_last_n of 0 is off."""

    num_predict: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()  # texts before which a completion ends

    def override(self, samplers: Mapping[str, object]) -> Sampling:
        """Returns a copy with the values of `samplers`, by name."""
        values = vars(self) | dict(samplers)
        return Sampling(**values | {"stop": tuple(values["stop"])})

    def derive_seed(self, *call: str | int) -> Sampling:
        """Returns a copy with a seed for one call: a sample, stage, pass and candidate number. With a shared seed,
        random choices in different calls would depend on each other. At temperature 0 the seed stays, so that equal
        prompts share an entry of the cache."""
        if not self.temperature:
            return self
        digest = hashlib.sha256(json.dumps([self.seed, *call]).encode()).digest()
        return replace(self, seed=int.from_bytes(digest[:8]) % SEEDS)


@dataclass(frozen=True)
class Request:
    """A chat call."""

    messages: tuple[Message, ...]
    sampling: Sampling
    schema: str = ""  # a JSON schema as canonical JSON text, or "" for free text
    logprobs: bool = False  # return the log-probability of each token
    alternatives: int = 0  # how many of the likeliest tokens in each token's place to return as well
    likelihood_of: str = ""  # a text to score as the completion (`likelihood.py`)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 (hex) of everything that the completion depends on. An image counts by its hash."""
        content = {
            "messages": [
                [message.role, message.text, [image.sha256 for image in message.images]] for message in self.messages
            ],
            "sampling": vars(self.sampling),
            "schema": self.schema,
            "logprobs": self.logprobs,
            **({"alternatives": self.alternatives} if self.alternatives else {}),
            **({"likelihood_of": self.likelihood_of} if self.likelihood_of else {}),
        }
        text = json.dumps(content, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(image for message in self.messages for image in message.images)


def build_likelihood_request(messages: Sequence[Message], text: str) -> Request:
    """Builds a request for the log-probabilities of the tokens of `text` as the completion. No sampler changes them."""
    sampling = Sampling(num_predict=2 * len(text.encode(errors="replace")) + 16)  # enough tokens for the text
    return Request(tuple(messages), sampling, logprobs=True, likelihood_of=text)


class Finish(StrEnum):
    """Why the model stopped: at its end token, at the token limit, or aborted by the server's loop guard."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"


FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}  # by the servers' names; any other is an abort


def _encodable(text: str) -> str:
    """Replaces lone surrogates, which JSON may contain but a UTF-8 file cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


Text = Annotated[str, AfterValidator(_encodable)]
Seconds = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**62)]  # of tokens


class TokenLogprob(BaseModel):
    """A token and its log-probability (natural). top_logprobs: the likeliest tokens in its place."""

    model_config = ConfigDict(frozen=True)

    token: Text
    logprob: float
    top_logprobs: tuple[TokenLogprob, ...] = Field(default=(), exclude_if=lambda value: not value)


class Completion(BaseModel):
    """What a model returns for one call.

    Thoughts that a server leaves in `text` are moved to `thinking`. `logprobs` then has only the tokens of the text, or
    none if it is unclear which these are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Text
    finish: Finish
    thinking: Text = ""
    logprobs: tuple[TokenLogprob, ...] = ()  # of the tokens of the text, if requested
    prompt_tokens: Count = 0
    reused_tokens: Count | None = None  # of the prompt, from the server's prefix cache; None if unknown
    response_tokens: Count = 0  # that the model wrote, including its thoughts
    prompt_seconds: Seconds = 0.0  # how long the server evaluated the prompt
    seconds: Seconds = 0.0  # how long the whole call took, by the client's clock
    host: str = ""
    cached: bool = False
    removed: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)  # "thinking", "log-probabilities"

    @model_validator(mode="before")
    @classmethod
    def _separate(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(text := data.get("text"), str):
            return data
        text = _encodable(text)  # tokens are encodable, too
        thoughts, words = separate_thoughts(text)
        if words == text and not data.get("thinking"):
            return data
        removed = set(data.get("removed", ()))
        if words != text:
            removed.add("thinking")
        logprobs = data.get("logprobs", ())
        if logprobs:
            tokens = [entry["token"] if isinstance(entry, Mapping) else entry.token for entry in logprobs]
            first = find_first_token(tokens, words)
            logprobs = () if first is None else logprobs[first:]
            if not logprobs:
                removed.add("log-probabilities")
        thinking = "\n\n".join(filter(None, (data.get("thinking"), thoughts)))
        return {**data, "text": words, "thinking": thinking, "logprobs": logprobs, "removed": tuple(sorted(removed))}


class Engine(BaseModel):
    """A model on a server: everything besides the request that can change a completion."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: str  # the kind of server
    version: str  # of the server
    model: str
    digest: str  # of the model's files, or of the server's description of them
    capabilities: tuple[str, ...] = ()  # the server's names, and thinking if the chat template has tags for thoughts
    context_length: int = 0  # the model's limit in tokens, 0 if unknown
    load: dict[str, int | str | bool | float] = {}  # load options, `think`, and `adapter`, the revision of its code

    @property
    def vision(self) -> bool:
        return "vision" in self.capabilities

    @property
    def think(self) -> bool:
        return bool(self.load.get("think"))

    @property
    def description(self) -> str:
        """The model and its server, like "qwen2.5vl:7b on ollama 0.5.1"."""
        return "a dry run, no model" if self.backend == "dry" else f"{self.model} on {self.backend} {self.version}"

    def key(self) -> str:
        """Returns a SHA-256 (hex) that is equal for two engines only if their completions are interchangeable."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()

    def brief(self) -> str:
        """Describes the engine in a line, for messages."""
        return f"{self.backend} {self.version}, {self.model} {self.digest[:SHOWN_DIGEST]}, load {self.load}"


def list_engine_changes(before: Engine, now: Engine) -> list[str]:
    """Lists the differences between two engines, each like "model digest a2bf01c2d3e4 → 91c0aa11bb22"."""
    old, new = _describe_parts(before), _describe_parts(now)
    changes = []
    for name in dict.fromkeys([*old, *new]):
        old_value, new_value = old.get(name, "none"), new.get(name, "none")
        if old_value != new_value:
            changes.append(f"{name} {old_value} → {new_value}")
    return changes


def _describe_parts(engine: Engine) -> dict[str, str]:
    """Returns everything that can change a completion, by its name in messages."""
    load = {f"load option {name}": str(value) for name, value in engine.load.items() if name != "adapter"}
    return {
        "model digest": engine.digest[:SHOWN_DIGEST] or "none",
        "server version": engine.version,
        "server": engine.backend,
        "model": engine.model,
        "capabilities": ", ".join(engine.capabilities) or "none",
        "context length": str(engine.context_length),
        **load,
        "revision of mmerg's adapter": str(engine.load.get("adapter", "none")),
    }


def make_engine_error(before: Engine, now: Engine, where: str) -> CallError:
    """Builds the error for a host that serves the engine `now` instead of `before`."""
    what = f"the host serves another engine: {'; '.join(list_engine_changes(before, now))}"
    return CallError(Failure.MODEL_NOT_FOUND, what, where=where, hint="restore the previous model or server")


class Backend(Protocol):
    """A server of requests. Several threads may share it."""

    def describe(self) -> Engine:
        """Returns the engine. Raises CallError if the server cannot be reached or lacks the model."""

    def complete(self, request: Request) -> Completion:
        """Returns the completion of a request. Raises CallError, with its `Failure`, if the call gives none."""

    def close(self) -> None:
        """Closes connections and files. Cancels calls in flight, which then raise CallError interrupted."""
