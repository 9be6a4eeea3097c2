"""Ollama's API, as far as its own programs and chat programs use it: models, chat, generate.

The agents' outputs go into `thinking`, unless the request says think=false; `mmerg` describes the reply, as in OpenAI's
API. There is nothing to load or to pull.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, JsonValue

from mmerg.errors import MmergError
from mmerg.serving.answers import Answer, Step, Wish, answers, respond
from mmerg.serving.messages import AnySeed, Sent, read_body, takes
from mmerg.serving.refused import error_sentence
from mmerg.serving.turns import AppState

API = "0.34.1"  # the Ollama whose API this is like: programs refuse versions that they take for too old


class Message(BaseModel):
    role: str
    content: str | None = None
    images: list[str] | None = None


class Options(BaseModel):
    seed: AnySeed = None
    stop: str | list[str] | None = None


class Body(BaseModel):
    """The parts of a request that are used; the others are for models with samplers and templates."""

    model: str = ""
    name: str = ""  # in place of model, as Ollama's own program sends it
    stream: bool | None = None
    think: bool | str | None = None
    options: Options | None = None
    keep_alive: JsonValue = None


class Chat(Body):
    messages: list[Message] | None = None

    def sent(self) -> list[Sent]:
        return [Sent(one.role, one.content or "", tuple(one.images or ())) for one in self.messages or ()]

    def fields(self, text: str, thinking: dict[str, str]) -> dict[str, object]:
        return {"message": {"role": "assistant", "content": text, **thinking}}


class Generate(Body):
    prompt: str | None = None
    images: list[str] | None = None

    def sent(self) -> list[Sent]:
        return [Sent("user", self.prompt or "", tuple(self.images or ()))] if self.prompt or self.images else []

    def fields(self, text: str, thinking: dict[str, str]) -> dict[str, object]:
        return {"response": text, **thinking}


class Lines:
    """Writes a response as lines of JSON, or as one object."""

    media_type, end = "application/x-ndjson", b""

    def __init__(self, body: Chat | Generate) -> None:
        self._body, self._answered = body, False

    def line(self, text: str, thoughts: str = "", **more: object) -> dict[str, object]:
        thinking = {"thinking": thoughts} if thoughts and self._body.think is not False else {}
        head = {"model": self._body.model, "created_at": _now()}
        return {**head, **self._body.fields(text, thinking), "done": False, **more}

    def whole(self, answer: Answer, thoughts: str) -> dict[str, object]:
        took = round(answer.seconds * 1e9)
        return self.line(
            answer.text,
            thoughts,
            done=True,
            done_reason=answer.finish,
            total_duration=took,
            load_duration=0,
            prompt_eval_duration=0,
            eval_duration=took,
            prompt_eval_count=answer.prompt_tokens,
            eval_count=answer.response_tokens,
            **answer.extra,
        )

    def write(self, step: Step) -> Iterator[bytes]:
        if isinstance(step, Answer):
            if not self._answered:
                yield _json(self.line(step.text))
            self._answered = True
            if step.last:
                yield _json(self.whole(step, "") | self._body.fields("", {}))
        else:  # without a thought it shows that the server is at work
            yield _json(self.line("", f"{step.thought}\n" if step.thought else ""))

    def fail(self, error: MmergError) -> bytes:
        return _json(failed(error))


def routes(state: AppState) -> APIRouter:
    router = APIRouter(prefix="/api")

    @router.head("/version", include_in_schema=False)
    @router.get("/version")
    async def version() -> dict[str, str]:
        return {"version": API}

    @router.head("/tags", include_in_schema=False)
    @router.get("/tags")
    async def tags() -> dict[str, object]:
        return {"models": [_entry(state, name) for name in state.offered]}

    @router.post("/show", openapi_extra=takes(Body))
    async def show(request: Request) -> dict[str, object]:
        body = await read_body(request, Body)
        sees = state.model(body.model or body.name).system.sees("V")
        return {
            "modelfile": "",
            "parameters": "",
            "template": "",
            "details": _details(state),
            "model_info": {"general.architecture": "mmerg", "mmerg.context_length": state.engine.context_length},
            "capabilities": ["completion", *["vision"] * sees, "thinking"],
            "modified_at": _now(),
        }

    @router.post("/chat", openapi_extra=takes(Chat))
    async def chat(request: Request) -> Response:
        return await _respond(state, request, await read_body(request, Chat))

    @router.post("/generate", openapi_extra=takes(Generate))
    async def generate(request: Request) -> Response:
        return await _respond(state, request, await read_body(request, Generate))

    return router


def failed(error: MmergError) -> dict[str, object]:
    return {"error": error_sentence(error)}


async def _respond(state: AppState, request: Request, body: Chat | Generate) -> Response:
    served, sent, form, options = state.model(body.model), body.sent(), Lines(body), body.options or Options()
    if not sent:  # asks to load the model, or to unload it
        reason = "unload" if body.keep_alive in (0, "0") else "load"
        return JSONResponse(form.line("", done=True, done_reason=reason))
    steps = answers(state, served, sent, Wish(options.stop, options.seed))
    return await respond(request, steps, form, streams=body.stream is not False)


def _entry(state: AppState, name: str) -> dict[str, object]:
    tagged = f"{name}:latest"
    digest = sha256(f"{name} {state.engine.digest}".encode()).hexdigest()  # clients take equal ones for one model
    fields = {"name": tagged, "model": tagged, "size": 0, "digest": digest}
    return {**fields, "details": _details(state), "modified_at": _now()}


def _details(state: AppState) -> dict[str, object]:
    family = {"family": "mmerg", "families": ["mmerg"], "parameter_size": "", "quantization_level": ""}
    return {"parent_model": state.engine.model, "format": "mmerg", **family}


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def _json(line: dict[str, object]) -> bytes:
    return f"{json.dumps(line)}\n".encode()
