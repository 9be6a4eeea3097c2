"""The backend that asks an Ollama server: one streamed POST /api/chat a call.

Sends every sampler, never lets the server cut the prompt or shift the context (`truncate` and `shift` off), and names
each way a call can fail. Judges no reply: a blank or cut one is returned with its finish, and the engine decides.

    backend = Ollama(host="http://127.0.0.1:11434", model="qwen2.5vl:7b", load={"num_ctx": 12288})
    reply = backend.complete(Request((Message("user", "Hello"),), Sampling(num_predict=32)))
"""

import base64
import json
import time
from collections.abc import Iterable

from pydantic import BaseModel

from mmerg.backends.adapter import Adapter
from mmerg.backends.connection import Deadlines
from mmerg.backends.http import Count, room
from mmerg.backends.load import Load, check_load
from mmerg.backends.ollama_host import LOAD_OPTIONS, OllamaHost
from mmerg.backends.protocol import Engine, Finish, Reply, Request, TokenLogprob
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


class Ollama(Adapter):
    """A `Backend` over one model at one Ollama host.

    load: the model's load options, `num_ctx` among them. think: whether the model thinks before it replies. keep_alive:
    how long the model stays loaded after a call, in Go's notation (30m, 2h).
    """

    def __init__(
        self,
        *,
        model: str,
        load: Load,
        host: str = "http://127.0.0.1:11434",
        think: bool = False,
        keep_alive: str = "30m",
        deadlines: Deadlines | None = None,
        check_wait: float = 0.5,
    ) -> None:
        check_load(load, LOAD_OPTIONS, f"model {model}")
        self._host = OllamaHost(host, deadlines)
        super().__init__(self._host, model, check_wait)
        self.load, self._think, self._keep_alive = dict(load), think, keep_alive

    def _serves(self) -> tuple[str, str]:
        return self._host.serves(self.model)

    def _describe(self) -> Engine:
        engine = self._host.describe(self.model, self.load | {"think": self._think, "adapter": REVISION})
        if self._think and "thinking" not in engine.capabilities:
            what = f"model {self.model} cannot think, and think is on"
            hint = "set backbone.think=false, or use a model whose capabilities name thinking"
            raise ConfigError(what, where=self.host, hint=hint)
        return engine

    def _ask(self, request: Request) -> Reply:
        most, body = room(request.sampling.num_predict), self._body(request)
        begin = time.monotonic()
        with self._host.ask("/api/chat", body, self.model, room=most) as answer:
            if answer.kind not in _STREAM_TYPES:
                raise self._host.odd(f"the answer is {answer.kind or 'of no type'}, not a stream of JSON")
            reply = self._gather(answer.lines())
        return reply.model_copy(update={"seconds": time.monotonic() - begin})

    def _body(self, request: Request) -> dict[str, object]:
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
            "think": self._think,
            "truncate": False,
            "shift": False,
            "keep_alive": self._keep_alive,
            "options": self.load | samplers,
            **({"format": json.loads(request.schema)} if request.schema else {}),
            **({"logprobs": True} if request.logprobs else {}),
            **({"top_logprobs": request.alternatives} if request.alternatives else {}),
        }

    def _gather(self, lines: Iterable[bytes]) -> Reply:
        told: list[_Line] = []
        for raw in lines:
            told.append(self._host.parsed(_Line.model_validate_json, raw))
            if told[-1].error is not None:
                raise self._host.error(200, raw, self.model)
            if told[-1].done:
                break
        if not told:
            raise self._host.odd("the answer is empty")
        last = told[-1]
        # A stream that ends whole without its last word is the server's guard against repetition at work.
        finish = _FINISHES.get(last.done_reason) if last.done and last.done_reason else Finish.ABORT
        if finish is None:
            raise self._host.odd(f"the reply is done for the reason {last.done_reason!r}, not stop or length")
        return Reply(
            text="".join(line.message.content for line in told),
            finish=finish,
            thinking="".join(line.message.thinking for line in told),
            logprobs=tuple(entry for line in told for entry in line.logprobs or ()),
            prompt_tokens=last.prompt_eval_count,
            response_tokens=last.eval_count,
            prompt_seconds=last.prompt_eval_duration / 1e9,
            host=self.host,
        )
