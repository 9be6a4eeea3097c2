"""A backend for Ollama servers, which makes one streamed POST to /api/chat for each call.

Every sampler is sent. The fields `truncate` and `shift` forbid the server to truncate the prompt or to shift the
context. Ollama takes [img] and [img-7] in a text for the place of an image, so they are sent with a space, as [ img-7],
which the trace does not show.

    backend = Ollama(host="http://127.0.0.1:11434", model="qwen2.5vl:7b", load={"num_ctx": 12288})
    completion = backend.complete(Request((Message("user", "Hello"),), Sampling(num_predict=32)))
"""

import base64
import json
import re
from typing import Any

import httpx
from pydantic import TypeAdapter

from mmerg.backends.adapter import Adapter, LoadOptions, check_load, post_chat
from mmerg.backends.http import Deadlines, read_lines
from mmerg.backends.likelihood import build_writing_request, read_written_text
from mmerg.backends.ollama_host import LOAD_OPTIONS, OllamaHost
from mmerg.backends.protocol import FINISHES, Completion, Engine, Finish, Request
from mmerg.backends.streaming import current_listener
from mmerg.errors import ConfigError

# Part of the keys of stored completions. Increase it if `_build_body` sends another request, or if `_read` makes
# another completion of the same response.
REVISION = 4

_IMAGE_MARK = re.compile(r"\[(?=img[-\]])")

_parse_object = TypeAdapter(dict[str, Any]).validate_json


class Ollama(Adapter):
    """A `Backend` for one model at one Ollama host. load: the model's load options, including `num_ctx`. keep_alive:
    how long the model stays loaded after a call (30m, 2h)."""

    def __init__(
        self,
        *,
        model: str,
        load: LoadOptions,
        host: str = "http://127.0.0.1:11434",
        think: bool = False,
        keep_alive: str = "30m",
        deadlines: Deadlines | None = None,
    ) -> None:
        check_load(load, LOAD_OPTIONS, f"model {model}")
        self._host = OllamaHost(host, deadlines)
        super().__init__(self._host, model)
        self._load, self._think, self._keep_alive = dict(load), think, keep_alive

    def _identify(self) -> tuple[str, str]:
        return self._host.identify(self.model)

    def _describe(self) -> Engine:
        engine = self._host.describe(self.model, self._load | {"think": self._think, "adapter": REVISION})
        if self._think and "thinking" not in engine.capabilities:
            what = f"model {self.model} cannot think, but backbone.think is on"
            hint = "set backbone.think=false, or use a model with the capability thinking"
            raise ConfigError(what, where=self.host, hint=hint)
        return engine

    def _call(self, request: Request) -> Completion:
        if request.likelihood_of:
            return read_written_text(request, self._call(build_writing_request(request)))
        return post_chat(self._host, "/api/chat", self._build_body(request), self._read)

    def _build_body(self, request: Request) -> dict[str, object]:
        messages = []
        for message in request.messages:
            fields: dict[str, object] = {"role": message.role, "content": _IMAGE_MARK.sub("[ ", message.text)}
            if message.images:
                fields["images"] = [base64.b64encode(image.data).decode() for image in message.images]
            messages.append(fields)
        samplers = dict(vars(request.sampling))  # they have the same names in Ollama
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
            "options": self._load | samplers,
            **({"format": json.loads(request.schema)} if request.schema else {}),
            **({"logprobs": True} if request.logprobs else {}),
            **({"top_logprobs": request.alternatives} if request.alternatives else {}),
        }

    def _read(self, response: httpx.Response) -> Completion:
        from ollama import ChatResponse

        parts, logprobs = list[ChatResponse](), list[Any]()
        send_text = current_listener()
        send_text("")
        for raw in read_lines(response):
            part = self._host.parse(_parse_object, raw)
            if part.get("error") is not None:
                raise self._host.make_status_error(200, raw, self.model)
            parts.append(ChatResponse.model_validate(part))
            logprobs += part.get("logprobs") or ()
            if text := parts[-1].message.content:
                send_text(text)
            if parts[-1].done:
                break
        if not parts:
            raise self._host.make_response_error("the response is empty")
        last = parts[-1]
        return Completion(
            text="".join(part.message.content or "" for part in parts),
            # If the model repeats one token, the server aborts the completion, and ends the stream without a last line.
            finish=FINISHES.get(last.done_reason or "", Finish.ABORT),
            thinking="".join(part.message.thinking or "" for part in parts),
            logprobs=tuple(logprobs),
            prompt_tokens=last.prompt_eval_count or 0,
            response_tokens=last.eval_count or 0,
            prompt_seconds=(last.prompt_eval_duration or 0) / 1e9,
        )
