"""The backend that asks an Ollama server: one streamed POST /api/chat a call.

Sends every sampler, never lets the server cut the prompt or shift the context (`truncate` and `shift` off), and names
each way a call can fail. Judges no reply: a blank or cut one is returned with its finish, and the engine decides.

A chat reply does not say what gave it, and a server can be updated between any two calls. So once the host was
described, two small GETs follow each reply (a millisecond), which counts only where the version and the digest are
still those. A host that changes and changes back within one call goes unnoticed.

    backend = Ollama(host="http://127.0.0.1:11434", model="qwen2.5vl:7b", load={"num_ctx": 12288})
    reply = backend.complete(Request((Message("user", "Hello"),), Sampling(num_predict=32)))
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterable, Mapping
from functools import partial

from pydantic import BaseModel

from mmerg.backends.http import Deadlines
from mmerg.backends.images import check_images
from mmerg.backends.json_host import Count, room
from mmerg.backends.ollama_host import LOAD_OPTIONS, OllamaHost
from mmerg.backends.protocol import Engine, Finish, Reply, Request, TokenLogprob
from mmerg.backends.retry import CHECKS, persist
from mmerg.errors import ConfigError

__all__ = ["Deadlines", "Ollama"]

# Part of the engine, and so of the keys of stored replies. Raise it with every change of what `_body` sends for the
# same request, or of what `_gather` reads from the same answer: else replies from before the change go on being served.
REVISION = 1


_FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}
_STREAM_TYPES = {"application/x-ndjson", "application/json"}


class _Said(BaseModel):
    content: str = ""
    thinking: str = ""


class _Line(BaseModel):
    """One line of the stream; durations in nanoseconds."""

    message: _Said = _Said()
    logprobs: tuple[TokenLogprob, ...] | None = None
    done: bool = False
    done_reason: str = ""
    prompt_eval_count: Count = 0
    prompt_eval_duration: Count = 0
    eval_count: Count = 0
    error: object = None


class Ollama:
    """A `Backend` over one model at one Ollama host.

    load: the model's load options, `num_ctx` among them. think: whether the model thinks before it replies. keep_alive:
    how long the model stays loaded after a call, in Go's notation (30m, 2h). check_wait: seconds before a host that did
    not say what it serves is asked again.
    """

    def __init__(
        self,
        *,
        model: str,
        load: Mapping[str, int | str | bool | float],
        host: str = "http://127.0.0.1:11434",
        think: bool = False,
        keep_alive: str = "30m",
        deadlines: Deadlines | None = None,
        check_wait: float = 0.5,
    ) -> None:
        _check_load(load, f"model {model}")
        self.host, self.model, self.load = host, model, dict(load)
        self.think, self.keep_alive = think, keep_alive
        self._server = OllamaHost(host, deadlines)
        self._check_wait = check_wait
        self._engine: Engine | None = None  # as last described
        self._bound: Engine | None = None  # as described when the first call was made: all replies are of it
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def describe(self) -> Engine:
        """The engine as the host answers now. Raises CallError (unreachable, model_not_found, …), and ConfigError where
        the model is to think and cannot."""
        engine = self._server.describe(self.model, self.load | {"think": self.think, "adapter": REVISION})
        if self.think and "thinking" not in engine.capabilities:
            what = f"model {self.model} cannot think, and think is on"
            hint = "set backbone.think=false, or use a model whose capabilities name thinking"
            raise ConfigError(what, where=self.host, hint=hint)
        self._engine = engine
        return engine

    def complete(self, request: Request) -> Reply:
        """The reply to `request` by the engine that was described before the first call. Raises CallError
        (model_not_found where the host has another one now) or ConfigError."""
        with self._lock:
            engine = self._bound = self._bound or self._engine
        body = self._body(request)
        check_images(request, lambda: (self._engine or self.describe()).vision, f"model {self.model}", self.host)
        begin = time.monotonic()
        with self._server.ask("/api/chat", body, self.model, room=room(request.sampling.num_predict)) as answer:
            if answer.kind not in _STREAM_TYPES:
                raise self._server.odd(f"the answer is {answer.kind or 'of no type'}, not a stream of JSON")
            reply = self._gather(answer.lines())
        seconds = time.monotonic() - begin
        if engine:
            persist(partial(self._server.check_still, engine), CHECKS, self._check_wait, self._closed)
        return reply.model_copy(update={"seconds": seconds})

    def close(self) -> None:
        """Refuse new calls and break off those in flight."""
        self._closed.set()
        self._server.close()

    def _body(self, request: Request) -> dict[str, object]:
        if request.sampling.num_predict <= 0:
            what = f"num_predict is {request.sampling.num_predict}: without a limit a model can talk for minutes"
            raise ConfigError(what, where=f"model {self.model}", hint="set num_predict over 0")
        messages = [
            {"role": m.role, "content": m.text}
            | ({"images": [base64.b64encode(i.data).decode() for i in m.images]} if m.images else {})
            for m in request.messages
        ]
        samplers = dict(vars(request.sampling))  # their names are Ollama's
        if not request.sampling.stop:
            del samplers["stop"]  # then the stop texts of the model's own Modelfile hold
        return {
            "model": self.model,
            "messages": messages,
            "stream": True,
            "think": self.think,
            "truncate": False,
            "shift": False,
            "keep_alive": self.keep_alive,
            "options": self.load | samplers,
            **({"format": json.loads(request.schema)} if request.schema else {}),
            **({"logprobs": True} if request.logprobs else {}),
            **({"top_logprobs": request.alternatives} if request.alternatives else {}),
        }

    def _gather(self, lines: Iterable[bytes]) -> Reply:
        text: list[str] = []
        thinking: list[str] = []
        logprobs: list[TokenLogprob] = []
        last = None
        for raw in lines:
            last = self._server.parsed(_Line.model_validate_json, raw)
            if last.error is not None:
                raise self._server.error(200, raw, self.model)
            text.append(last.message.content)
            thinking.append(last.message.thinking)
            logprobs.extend(last.logprobs or ())
            if last.done:
                break
        if last is None:
            raise self._server.odd("the answer is empty")
        # A stream that ends whole without its last word is the server's guard against repetition at work.
        finish = _FINISHES.get(last.done_reason) if last.done and last.done_reason else Finish.ABORT
        if finish is None:
            raise self._server.odd(f"the reply is done for the reason {last.done_reason!r}, not stop or length")
        return Reply(
            text="".join(text),
            finish=finish,
            thinking="".join(thinking),
            logprobs=tuple(logprobs),
            prompt_tokens=last.prompt_eval_count,
            response_tokens=last.eval_count,
            prompt_seconds=last.prompt_eval_duration / 1e9,
            host=self.host,
        )


def _check_load(load: Mapping[str, int | str | bool | float], where: str) -> None:
    """Raises ConfigError where an option is none that loads a model, or has a value of another type."""
    if unknown := [name for name in load if name not in LOAD_OPTIONS]:
        hint = f"load takes {', '.join(LOAD_OPTIONS)}; samplers belong to each request"
        raise ConfigError(f"not a load option: {', '.join(unknown)}", where=where, hint=hint)
    context = "set backbone.load.num_ctx, for example to 12288: five frames can be over 5,000 tokens"
    if "num_ctx" not in load:
        raise ConfigError("num_ctx is not set; the server would pick one by its memory", where=where, hint=context)
    for name, value in load.items():
        if type(value) is LOAD_OPTIONS[name] and (name != "num_ctx" or int(value) > 0):  # a bool is an int, too
            continue
        meaning = "true or false" if LOAD_OPTIONS[name] is bool else "a whole number" + " over 0" * (name == "num_ctx")
        hint = context if name == "num_ctx" else f"set backbone.load.{name}, or leave it out for the server to pick"
        raise ConfigError(f"load option {name} is {value!r}, not {meaning}", where=where, hint=hint)
