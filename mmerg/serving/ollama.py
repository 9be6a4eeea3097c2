"""Ollama's API, as far as its own programs and chat programs use it: models, chat, generate.

The agents' outputs go into `thinking`, unless it is switched off; `mmerg` says what made a reply, as in OpenAI's API.
There is nothing to load or to pull.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from hashlib import sha256
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, JsonValue

from mmerg.errors import MmergError
from mmerg.serving.answers import Answer, Steps, Wish, answers, respond
from mmerg.serving.messages import AnySeed, Sent, read_body, takes
from mmerg.serving.offered import ServedSystem
from mmerg.serving.refused import error_sentence
from mmerg.serving.served import AppState

TAG = ":latest"  # behind the name of a model that has no other
LINES = "application/x-ndjson"
API = "0.34.1"  # the Ollama whose API this is like: programs refuse versions that they take for too old
NEVER = "2318-01-01T00:00:00Z"  # when a model is unloaded, as Ollama itself writes it


class Message(BaseModel):
    role: str
    content: str | None = None
    images: list[str] | None = None


class Options(BaseModel):
    seed: AnySeed = None
    stop: str | list[str] | None = None
    num_predict: int | None = None


class Asked(BaseModel):
    """The parts of a request that are used; the others are for models with samplers and templates. format: none."""

    model: str = ""
    name: str = ""  # in place of model, as Ollama's own program sends it
    stream: bool | None = None
    think: bool | str | None = None
    format: Literal[""] | None = None
    options: Options | None = None
    keep_alive: JsonValue = None

    def wish(self) -> Wish:
        options = self.options or Options()
        stops = [options.stop] if isinstance(options.stop, str) else options.stop or []
        tokens = options.num_predict if options.num_predict and options.num_predict > 0 else None
        return Wish(stops, tokens, options.seed)


class Chat(Asked):
    messages: list[Message] | None = None

    def sent(self) -> list[Sent]:
        return [Sent(one.role, one.content or "", tuple(one.images or ())) for one in self.messages or ()]

    def fields(self, text: str, **thinking: str) -> dict[str, object]:
        return {"message": {"role": "assistant", "content": text, **thinking}}


class Generate(Asked):
    prompt: str | None = None
    images: list[str] | None = None

    def sent(self) -> list[Sent]:
        return [Sent("user", self.prompt or "", tuple(self.images or ()))] if self.prompt or self.images else []

    def fields(self, text: str, **thinking: str) -> dict[str, object]:
        return {"response": text, **thinking}


def routes(served: AppState) -> APIRouter:
    router = APIRouter(prefix="/api")

    @router.head("/version", include_in_schema=False)
    @router.get("/version")
    async def version() -> dict[str, str]:
        return {"version": API}

    @router.head("/tags", include_in_schema=False)
    @router.get("/tags")
    async def tags() -> dict[str, object]:
        return {"models": [_entry(served, name) | {"modified_at": _now()} for name in served.offered]}

    @router.get("/ps")
    async def loaded() -> dict[str, object]:
        return {"models": [_entry(served, name) | {"expires_at": NEVER, "size_vram": 0} for name in served.offered]}

    @router.post("/show", openapi_extra=takes(Asked))
    async def show(request: Request) -> dict[str, object]:
        body = await read_body(request, Asked)
        return _shown(served, served.model(body.model or body.name))

    @router.post("/chat", openapi_extra=takes(Chat))
    async def chat(request: Request) -> Response:
        return await _answered(served, request, await read_body(request, Chat))

    @router.post("/generate", openapi_extra=takes(Generate))
    async def generate(request: Request) -> Response:
        return await _answered(served, request, await read_body(request, Generate))

    return router


def failed(error: MmergError) -> dict[str, object]:
    return {"error": error_sentence(error)}


async def _answered(served: AppState, request: Request, body: Chat | Generate) -> Response:
    offered, sent = served.model(body.model), body.sent()

    def line(text: str, thoughts: str = "", /, **more: object) -> dict[str, object]:
        thinking = {"thinking": thoughts} if thoughts and body.think is not False else {}
        return {"model": body.model, "created_at": _now(), **body.fields(text, **thinking), "done": False, **more}

    def whole(answer: Answer, thoughts: str) -> dict[str, object]:
        return line(answer.text, thoughts, **_end(answer))

    async def streamed(steps: Steps) -> AsyncGenerator[bytes, None]:
        said = False
        try:
            async with aclosing(steps):
                async for one in steps:
                    if isinstance(one, Answer):
                        if not said:
                            yield _json(line(one.text))
                        said = True
                        if one.last:
                            yield _json(line("", **_end(one)))
                    else:  # without a thought it is a sign of life
                        yield _json(line("", f"{one.thought}\n" if one.thought else ""))
        except MmergError as error:
            yield _json(failed(error))

    if not sent:  # asks for the model to be loaded, or not to be
        return JSONResponse(line("", done=True, done_reason="unload" if body.keep_alive in (0, "0") else "load"))
    steps = answers(served, offered, sent, body.wish())
    return await respond(request, steps, None if body.stream is False else streamed, LINES, whole)


def _end(answer: Answer) -> dict[str, object]:
    took = round(answer.seconds * 1e9)
    durations = {"total_duration": took, "load_duration": 0, "prompt_eval_duration": 0, "eval_duration": took}
    counts = {"prompt_eval_count": answer.prompt_tokens, "eval_count": answer.response_tokens}
    about = {"mmerg": answer.about} if answer.about else {}
    return {"done": True, "done_reason": answer.finish, **durations, **counts, **about}


def _entry(served: AppState, name: str) -> dict[str, object]:
    tagged = f"{name}{TAG}"
    digest = sha256(f"{name} {served.engine.digest}".encode()).hexdigest()  # clients take equal ones for one model
    return {"name": tagged, "model": tagged, "size": 0, "digest": digest, "details": _details(served)}


def _details(served: AppState) -> dict[str, object]:
    model = served.engine.model
    of_it = {"family": "mmerg", "families": ["mmerg"], "parameter_size": "", "quantization_level": ""}
    return {"parent_model": model, "format": "mmerg", **of_it}


def _shown(served: AppState, offered: ServedSystem) -> dict[str, object]:
    sees = ["vision"] if offered.system.sees("V") else []  # a model without vision gets descriptions of faces
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": _details(served),
        "model_info": {"general.architecture": "mmerg", "mmerg.context_length": served.engine.context_length},
        "capabilities": ["completion", *sees, "thinking"],
        "modified_at": _now(),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def _json(line: dict[str, object]) -> bytes:
    return f"{json.dumps(line)}\n".encode()
