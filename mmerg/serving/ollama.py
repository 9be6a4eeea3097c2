"""The parts of Ollama's API that its own program and chat programs use: models, chat, generate.

The agents' outputs are in `thinking`, unless the request has think=false. The field `mmerg` holds the details of the
reply, as in OpenAI's API. There is nothing to load or to pull.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, JsonValue

from mmerg.errors import MmergError
from mmerg.serving.http_error import error_as_text
from mmerg.serving.messages import AnySeed, decode_pictures, describe_body, read_body
from mmerg.serving.responses import respond, run_request
from mmerg.serving.talk import Utterance
from mmerg.serving.turns import AppState
from mmerg.serving.updates import Reply, Update

API = "0.34.1"  # the version of Ollama that this API resembles; programs refuse old versions


class OllamaMessage(BaseModel):
    role: str
    content: str | None = None
    images: list[str] | None = None


class OllamaOptions(BaseModel):
    seed: AnySeed = None
    stop: str | list[str] | None = None


class OllamaRequest(BaseModel):
    """The fields of a request that have an effect. The others are for models with samplers and templates."""

    model: str = ""
    name: str = ""  # Ollama's own program sends it in place of model
    stream: bool | None = None
    think: bool | str | None = None
    options: OllamaOptions | None = None
    keep_alive: JsonValue = None


class ChatRequest(OllamaRequest):
    messages: list[OllamaMessage] | None = None

    def list_messages(self) -> list[Utterance]:
        return [
            Utterance(message.role, message.content or "", decode_pictures(message.images or (), number))
            for number, message in enumerate(self.messages or (), start=1)
        ]

    def reply_fields(self, text: str, thinking: dict[str, str]) -> dict[str, object]:
        return {"message": {"role": "assistant", "content": text, **thinking}}


class GenerateRequest(OllamaRequest):
    prompt: str | None = None
    images: list[str] | None = None

    def list_messages(self) -> list[Utterance]:
        if not self.prompt and not self.images:
            return []
        return [Utterance("user", self.prompt or "", decode_pictures(self.images or (), 1))]

    def reply_fields(self, text: str, thinking: dict[str, str]) -> dict[str, object]:
        return {"response": text, **thinking}


class OllamaFormat:
    """A writer of responses as lines of JSON, or as one object. See `ResponseFormat`."""

    media_type, end = "application/x-ndjson", b""

    def __init__(self, body: ChatRequest | GenerateRequest) -> None:
        self._body, self._replied = body, False

    def line(self, text: str, thoughts: str = "", **more: object) -> dict[str, object]:
        thinking = {"thinking": thoughts} if thoughts and self._body.think is not False else {}
        head = {"model": self._body.model, "created_at": _now()}
        return {**head, **self._body.reply_fields(text, thinking), "done": False, **more}

    def whole(self, reply: Reply, thoughts: str) -> dict[str, object]:
        nanoseconds = round(reply.seconds * 1e9)
        return self.line(
            reply.text,
            thoughts,
            done=True,
            done_reason=reply.finish,
            total_duration=nanoseconds,
            load_duration=0,
            prompt_eval_duration=0,
            eval_duration=nanoseconds,
            prompt_eval_count=reply.prompt_tokens,
            eval_count=reply.response_tokens,
            **reply.extra,
        )

    def write(self, update: Update) -> Iterator[bytes]:
        if reply := update.reply:
            if not self._replied:
                yield _json(self.line(reply.text))
                self._replied = True
            if reply.last:
                yield _json(self.whole(reply, "") | self._body.reply_fields("", {}))
        if update.thought or not reply:  # a line without a thought keeps the connection alive
            yield _json(self.line("", f"{update.thought}\n" if update.thought else ""))

    def fail(self, error: MmergError) -> bytes:
        return _json(build_error(error))


def routes(state: AppState) -> APIRouter:
    router = APIRouter(prefix="/api")

    @router.head("/version", include_in_schema=False)
    @router.get("/version")
    async def version() -> dict[str, str]:
        return {"version": API}

    @router.head("/tags", include_in_schema=False)
    @router.get("/tags")
    async def tags() -> dict[str, object]:
        return {"models": [_entry(state, name) for name in state.systems]}

    @router.post("/show", openapi_extra=describe_body(OllamaRequest))
    async def show(request: Request) -> dict[str, object]:
        body = await read_body(request, OllamaRequest)
        vision = state.find_system(body.model or body.name).system.sees("V")
        return {
            "modelfile": "",
            "parameters": "",
            "template": "",
            "details": _details(state),
            "model_info": {"general.architecture": "mmerg", "mmerg.context_length": state.engine.context_length},
            "capabilities": ["completion", *["vision"] * vision, "thinking"],
            "modified_at": _now(),
        }

    @router.post("/chat", openapi_extra=describe_body(ChatRequest))
    async def chat(request: Request) -> Response:
        return await _respond(state, request, await read_body(request, ChatRequest))

    @router.post("/generate", openapi_extra=describe_body(GenerateRequest))
    async def generate(request: Request) -> Response:
        return await _respond(state, request, await read_body(request, GenerateRequest))

    return router


def build_error(error: MmergError) -> dict[str, object]:
    return {"error": error_as_text(error)}


async def _respond(state: AppState, request: Request, body: ChatRequest | GenerateRequest) -> Response:
    served, messages = state.find_system(body.model), body.list_messages()
    ollama_format, options = OllamaFormat(body), body.options or OllamaOptions()
    if not messages:  # asks to load the model, or to unload it
        reason = "unload" if body.keep_alive in (0, "0") else "load"
        return JSONResponse(ollama_format.line("", done=True, done_reason=reason))
    updates = run_request(state, served, messages, options.stop, options.seed)
    return await respond(request, updates, ollama_format, streams=body.stream is not False)


def _entry(state: AppState, name: str) -> dict[str, object]:
    tagged = f"{name}:latest"
    digest = sha256(f"{name} {state.engine.digest}".encode()).hexdigest()  # differs by model, as clients expect
    fields = {"name": tagged, "model": tagged, "size": 0, "digest": digest}
    return {**fields, "details": _details(state), "modified_at": _now()}


def _details(state: AppState) -> dict[str, object]:
    family = {"family": "mmerg", "families": ["mmerg"], "parameter_size": "", "quantization_level": ""}
    return {"parent_model": state.engine.model, "format": "mmerg", **family}


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def _json(line: dict[str, object]) -> bytes:
    return f"{json.dumps(line)}\n".encode()
