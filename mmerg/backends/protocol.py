"""The interface between agents and a model: requests, replies, engines, and the `Backend` protocol.

A `Request` and the `Engine` that serves it decide the reply. Adapters to servers and wrappers (`cache.py`, `pool.py`)
are both backends.

    reply = backend.complete(Request((Message("user", "Hello"),), Sampling(num_predict=32)))
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

from mmerg.backends.thinking import first_token, separate
from mmerg.errors import CallError, Failure
from mmerg.settings.backbone import SEEDS

SHOWN_DIGEST = 12  # characters of a digest in messages


@dataclass(frozen=True, slots=True)
class Image:
    """A JPEG or PNG, identified by its content hash. Its bytes are never printed, compared or traced."""

    sha256: str
    data: bytes = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; images come before the text."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True)
class Sampling:
    """A value for every sampler, so that no server default changes a result. top_k 0 and repeat_last_n 0 mean off.
    stop: texts before which a reply ends."""

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
    stop: tuple[str, ...] = ()

    def override(self, samplers: Mapping[str, object]) -> Sampling:
        """Returns a copy with the values of `samplers`, by name."""
        values = vars(self) | dict(samplers)
        return Sampling(**values | {"stop": tuple(values["stop"])})

    def derive_seed(self, *call: str | int) -> Sampling:
        """Returns a copy with a seed for one call: a sample, stage, pass and candidate number.

        With a shared seed, random choices in different calls would depend on each other. At temperature 0 the seed
        stays, so that equal prompts share an entry of the reply cache.
        """
        if not self.temperature:
            return self
        digest = hashlib.sha256(json.dumps([self.seed, *call]).encode()).digest()
        return replace(self, seed=int.from_bytes(digest[:8]) % SEEDS)


@dataclass(frozen=True)
class Request:
    """A chat call. schema: a JSON schema as canonical JSON text, "" for free text. logprobs: whether to return the log-
    probability of each token. alternatives: of how many likeliest tokens in its place, too. likelihood_of: a text to
    score as the reply (`likelihood.py`)."""

    messages: tuple[Message, ...]
    sampling: Sampling
    schema: str = ""
    logprobs: bool = False
    alternatives: int = 0
    likelihood_of: str = ""

    def digest(self) -> str:
        """SHA-256 (hex) of all that decides the reply. Images count by their content hash."""
        return self._digest

    @cached_property
    def _digest(self) -> str:  # the cache and the trace both need it, and a prompt is long
        content = {
            "messages": [[m.role, m.text, [i.sha256 for i in m.images]] for m in self.messages],
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
    """A request for the log-probabilities of the tokens of `text` as the reply. No sampler changes them."""
    room = Sampling(num_predict=2 * len(text.encode(errors="replace")) + 16)
    return Request(tuple(messages), room, logprobs=True, likelihood_of=text)


class Finish(StrEnum):
    """Why the model stopped: at its end token, at the token limit, or aborted by the server's loop guard."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"


def _encodable(text: str) -> str:
    """`text` with lone surrogates replaced: JSON may contain them, but no UTF-8 file can."""
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


class Reply(BaseModel):
    """The complete reply to a call.

    Thoughts that a server leaves in `text` are moved to `thinking`. `logprobs` then keeps the tokens of the text, or
    none if it is unclear which they are. taken: "thinking" if thoughts were moved, "log-probabilities" if all were
    dropped. reused_tokens: tokens of the prompt from the server's prefix cache, None if unknown. prompt_seconds: the
    server's evaluation of the prompt. seconds: the whole call, by the client's clock.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Text
    finish: Finish
    thinking: Text = ""
    logprobs: tuple[TokenLogprob, ...] = ()
    prompt_tokens: Count = 0
    reused_tokens: Count | None = None
    response_tokens: Count = 0
    prompt_seconds: Seconds = 0.0
    seconds: Seconds = 0.0
    host: str = ""
    cached: bool = False
    taken: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)

    @model_validator(mode="before")
    @classmethod
    def _separate(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(text := data.get("text"), str):
            return data
        text = _encodable(text)  # as tokens are
        thoughts, words = separate(text)
        moved = words != text
        if not moved and not data.get("thinking"):
            return data
        taken = {*data.get("taken", ()), *(["thinking"] if moved else ())}
        if logprobs := data.get("logprobs", ()):
            tokens = [entry["token"] if isinstance(entry, Mapping) else entry.token for entry in logprobs]
            first = first_token(tokens, words)
            logprobs = () if first is None else logprobs[first:]
            taken |= set() if logprobs else {"log-probabilities"}
        thinking = "\n\n".join(filter(None, (data.get("thinking"), thoughts)))
        return {**data, "text": words, "thinking": thinking, "logprobs": logprobs, "taken": tuple(sorted(taken))}


class Engine(BaseModel):
    """Everything besides the request that can change a reply.

    capabilities: the server's names, and thinking also if the chat template has tags for thoughts. load: load options,
    `think`, and `adapter`, the revision of the code that sends requests and reads responses. context_length: the
    model's limit in tokens, 0 if unknown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: str
    version: str
    model: str
    digest: str
    capabilities: tuple[str, ...] = ()
    context_length: int = 0
    load: dict[str, int | str | bool | float] = {}

    @property
    def vision(self) -> bool:
        return "vision" in self.capabilities

    @property
    def think(self) -> bool:
        """Whether thinking is on."""
        return bool(self.load.get("think"))

    @property
    def description(self) -> str:
        """The model and its server, like "qwen2.5vl:7b on ollama 0.5.1"."""
        return "a dry run, no model" if self.backend == "dry" else f"{self.model} on {self.backend} {self.version}"

    def key(self) -> str:
        """SHA-256 (hex), equal for two engines only if their replies are interchangeable."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()

    def brief(self) -> str:
        """One line for people."""
        return f"{self.backend} {self.version}, {self.model} {self.digest[:SHOWN_DIGEST]}, load {self.load}"


def list_engine_changes(before: Engine, now: Engine) -> list[str]:
    """Lists the differences between two engines, each like "model digest a2bf01c2d3e4 → 91c0aa11bb22"."""
    old, new = _describe_parts(before), _describe_parts(now)
    changes = []
    for name in dict.fromkeys([*old, *new]):
        then, after = old.get(name, "none"), new.get(name, "none")
        if then != after:
            changes.append(f"{name} {then} → {after}")
    return changes


def _describe_parts(engine: Engine) -> dict[str, str]:
    """Returns everything that can change a reply, by its name in messages."""
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
    return CallError(Failure.MODEL_NOT_FOUND, what, where=where, hint="restore the model or server of before")


class Backend(Protocol):
    """Serves requests. Threads may share it."""

    def describe(self) -> Engine:
        """The engine. Raises CallError if the server cannot be reached or lacks the model."""

    def complete(self, request: Request) -> Reply:
        """The reply to a request. Raises CallError, with its `Failure`, if there is no complete reply."""

    def close(self) -> None:
        """Closes connections and files, and cancels calls in flight, which raise CallError interrupted."""
