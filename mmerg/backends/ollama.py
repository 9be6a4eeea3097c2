"""A backend for Ollama servers: a streamed POST /api/chat per call.

Every sampler is sent, and the server may neither truncate the prompt nor shift the context (`truncate` and `shift`).
Ollama reads [img] and [img-7] in a text as the place of an image, so they are sent with a space, [ img-7], which the
trace does not show.

    backend = Ollama(host="http://127.0.0.1:11434", model="qwen2.5vl:7b", load={"num_ctx": 12288})
    reply = backend.complete(Request((Message("user", "Hello"),), Sampling(num_predict=32)))
"""

import base64
import json
import re
from contextlib import suppress
from typing import Any

import httpx
from pydantic import TypeAdapter

from mmerg.backends.adapter import Adapter, Load, check_load, reply_to
from mmerg.backends.deadlines import Deadlines
from mmerg.backends.http import lines
from mmerg.backends.likelihood import as_written, writing
from mmerg.backends.ollama_host import LOAD_OPTIONS, OllamaHost
from mmerg.backends.protocol import Engine, Finish, Reply, Request
from mmerg.backends.streaming import current_listener
from mmerg.errors import CallError, ConfigError

# Part of the keys of stored replies: increase it when `_body` sends another request or another reply is read from the
# same response.
REVISION = 4

_IMAGE_MARK = re.compile(r"\[(?=img[-\]])")
REST_SECONDS = 0.2  # to read the end of a body after its last line, so that its connection can be reused

_object = TypeAdapter(dict[str, Any]).validate_json


class Ollama(Adapter):
    """A `Backend` for one model at one Ollama host. load: the model's load options, including `num_ctx`. keep_alive:
    how long the model stays loaded after a call (30m, 2h)."""

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

    @property
    def architecture(self) -> str:
        """The model's architecture as in its weights; "" before `describe`, and if the server does not say."""
        return self._host.architecture

    def _serves(self) -> tuple[str, str]:
        return self._host.identify(self.model)

    def _describe(self) -> Engine:
        engine = self._host.describe(self.model, self.load | {"think": self._think, "adapter": REVISION})
        if self._think and "thinking" not in engine.capabilities:
            what = f"model {self.model} cannot think, but backbone.think is on"
            hint = "set backbone.think=false, or use a model with the capability thinking"
            raise ConfigError(what, where=self.host, hint=hint)
        return engine

    def _ask(self, request: Request) -> Reply:
        if request.likelihood_of:
            return as_written(request, self._ask(writing(request)))
        body = self._body(request)
        return reply_to(self._host, "/api/chat", body, request.sampling.num_predict, self._read)

    def _body(self, request: Request) -> dict[str, object]:
        messages = [
            {"role": m.role, "content": _IMAGE_MARK.sub("[ ", m.text)}
            | ({"images": [base64.b64encode(i.data).decode() for i in m.images]} if m.images else {})
            for m in request.messages
        ]
        samplers = dict(vars(request.sampling))  # their names are Ollama's
        if not request.sampling.stop:
            del samplers["stop"]  # so that the stop texts of the Modelfile apply
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

    def _read(self, response: httpx.Response) -> Reply:
        from ollama import ChatResponse

        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind not in {"application/x-ndjson", "application/json"}:
            raise self._host.unexpected(f"the response is {kind or 'of no type'}, not a stream of JSON")
        parts, logprobs = list[ChatResponse](), list[Any]()
        stream, hear = lines(response), current_listener()
        hear("")
        for raw in stream:
            part = self._host.parse(_object, raw)
            if part.get("error") is not None:
                raise self._host.error(200, raw, self.model)
            parts.append(ChatResponse.model_validate(part))
            logprobs += part.get("logprobs") or ()
            if words := parts[-1].message.content:
                hear(words)
            if parts[-1].done:
                response.extensions["timer"].enter("stall", REST_SECONDS)
                with suppress(CallError):
                    list(stream)
                break
        if not parts:
            raise self._host.unexpected("the response is empty")
        last = parts[-1]
        # If the model repeats itself, the server ends the stream without its last line.
        reason = (last.done and last.done_reason) or Finish.ABORT
        if reason not in set(Finish):
            raise self._host.unexpected(f"the reply ended with the reason {reason!r}, not stop or length")
        return Reply(
            text="".join(part.message.content or "" for part in parts),
            finish=Finish(reason),
            thinking="".join(part.message.thinking or "" for part in parts),
            logprobs=tuple(logprobs),
            prompt_tokens=last.prompt_eval_count or 0,
            response_tokens=last.eval_count or 0,
            prompt_seconds=(last.prompt_eval_duration or 0) / 1e9,
        )
