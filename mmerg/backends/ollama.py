"""The backend that asks an Ollama server: one streamed POST /api/chat a call.

Every sampler is sent, and the server may neither cut the prompt nor shift the context (`truncate` and `shift` off). A
blank or cut reply is returned with its finish, for the caller to judge.

    backend = Ollama(host="http://127.0.0.1:11434", model="qwen2.5vl:7b", load={"num_ctx": 12288})
    reply = backend.complete(Request((Message("user", "Hello"),), Sampling(num_predict=32)))
"""

import base64
import json

from pydantic import BaseModel

from mmerg.backends.adapter import Adapter, Load, check_load, reply_to
from mmerg.backends.http import Answer, Count, Deadlines
from mmerg.backends.ollama_host import LOAD_OPTIONS, OllamaHost
from mmerg.backends.protocol import Engine, Finish, Reply, Request, TokenLogprob
from mmerg.errors import ConfigError

__all__ = ["Deadlines", "Ollama"]

# Part of the engine, and so of the keys of stored replies. Raise it with every change of what `_body` sends for the
# same request, or of what `_read` reads from the same answer. Else the cache gives old replies.
REVISION = 1


class _Message(BaseModel):
    content: str = ""
    thinking: str = ""


class _Line(BaseModel):
    """One line of the stream; durations in nanoseconds."""

    message: _Message = _Message()
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
        body = self._body(request)
        return reply_to(self._host, "/api/chat", body, request.sampling.num_predict, self._read)

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

    def _read(self, answer: Answer) -> Reply:
        if answer.kind not in {"application/x-ndjson", "application/json"}:
            raise self._host.unexpected(f"the answer is {answer.kind or 'of no type'}, not a stream of JSON")
        lines: list[_Line] = []
        for raw in answer.lines():
            lines.append(self._host.parse(_Line.model_validate_json, raw))
            if lines[-1].error is not None:
                raise self._host.error(200, raw, self.model)
            if lines[-1].done:
                break
        if not lines:
            raise self._host.unexpected("the answer is empty")
        last = lines[-1]
        # The server ends a stream without its last line where it detects that the model repeats itself.
        reason = last.done_reason if last.done and last.done_reason else Finish.ABORT
        if reason not in set(Finish):
            raise self._host.unexpected(f"the reply is done for the reason {reason!r}, not stop or length")
        return Reply(
            text="".join(line.message.content for line in lines),
            finish=Finish(reason),
            thinking="".join(line.message.thinking for line in lines),
            logprobs=tuple(entry for line in lines for entry in line.logprobs or ()),
            prompt_tokens=last.prompt_eval_count,
            response_tokens=last.eval_count,
            prompt_seconds=last.prompt_eval_duration / 1e9,
        )
