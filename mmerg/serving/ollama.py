"""Ollama's API, as far as its own programs and chat programs use it: models, chat, generate.

The agents' outputs go into `thinking`, unless it is switched off. There is nothing to load or to pull.
"""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from importlib import metadata
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, JsonValue

from mmerg.errors import MmergError
from mmerg.serving.answers import Answer, Steps, Wish, answers, respond
from mmerg.serving.messages import AnySeed, Sent, client_key, read_body
from mmerg.serving.offered import Offered
from mmerg.serving.refused import error_sentence
from mmerg.serving.served import Served

TAG = ":latest"  # behind the name of a model that has no other
LINES = "application/x-ndjson"
NEVER = "2318-01-01T00:00:00Z"  # when a model is unloaded, as Ollama itself writes it
Put = Callable[[str, str], dict[str, object]]  # text and thinking as fields of a route's answer


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

    def wish(self, client: str) -> Wish:
        options = self.options or Options()
        stops = [options.stop] if isinstance(options.stop, str) else options.stop or []
        tokens = options.num_predict if options.num_predict and options.num_predict > 0 else None
        return Wish(stops, tokens, options.seed, client)


class Chat(Asked):
    messages: list[Message] | None = None


class Generate(Asked):
    prompt: str | None = None
    images: list[str] | None = None


def routes(served: Served) -> APIRouter:
    router = APIRouter(prefix="/api")

    @router.api_route("/version", methods=["GET", "HEAD"])
    async def version() -> dict[str, str]:
        return {"version": metadata.version("mmerg")}

    @router.api_route("/tags", methods=["GET", "HEAD"])
    async def tags() -> dict[str, object]:
        return {"models": [_entry(served, name) | {"modified_at": _now()} for name in served.offered]}

    @router.get("/ps")
    async def loaded() -> dict[str, object]:
        return {"models": [_entry(served, name) | {"expires_at": NEVER, "size_vram": 0} for name in served.offered]}

    @router.post("/show")
    async def show(request: Request) -> dict[str, object]:
        body = await read_body(request, Asked)
        return _shown(served, served.model(body.model or body.name))

    @router.post("/chat")
    async def chat(request: Request) -> Response:
        body = await read_body(request, Chat)
        sent = [Sent(one.role, one.content or "", tuple(one.images or ())) for one in body.messages or ()]
        return await _answered(served, request, body, sent, _message)

    @router.post("/generate")
    async def generate(request: Request) -> Response:
        body = await read_body(request, Generate)
        empty = not (body.prompt or body.images)
        sent = [] if empty else [Sent("user", body.prompt or "", tuple(body.images or ()))]
        return await _answered(served, request, body, sent, _response)

    return router


def failed(error: MmergError) -> dict[str, object]:
    """An error as Ollama says it."""
    return {"error": error_sentence(error)}


async def _answered(served: Served, request: Request, body: Asked, sent: list[Sent], put: Put) -> Response:
    offered = served.model(body.model)
    if not sent:  # asks for the model to be loaded, or not to be
        why = "unload" if body.keep_alive in (0, "0") else "load"
        return JSONResponse({**_line(body, put("", "")), "done": True, "done_reason": why})

    async def streamed(steps: Steps) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(steps):
                async for one in steps:
                    if isinstance(one, Answer):
                        yield _json({**_line(body, put(one.text, "")), "done": False})
                        yield _json(_last(body, one, put("", "")))
                    else:  # without a thought it is a sign of life
                        thought = f"{one.thought}\n" if one.thought and body.think is not False else ""
                        yield _json({**_line(body, put("", thought)), "done": False})
        except MmergError as error:
            yield _json(failed(error))

    def whole(answer: Answer, thoughts: str) -> dict[str, object]:
        return _last(body, answer, put(answer.text, "" if body.think is False else thoughts))

    ask = partial(answers, served, offered, sent, body.wish(client_key(request)))
    return await respond(request, ask, None if body.stream is False else streamed, LINES, whole)


def _message(text: str, thinking: str) -> dict[str, object]:
    return {"message": {"role": "assistant", "content": text, **({"thinking": thinking} if thinking else {})}}


def _response(text: str, thinking: str) -> dict[str, object]:
    return {"response": text, **({"thinking": thinking} if thinking else {})}


def _line(body: Asked, put: dict[str, object]) -> dict[str, object]:
    return {"model": body.model, "created_at": _now(), **put}


def _last(body: Asked, answer: Answer, put: dict[str, object]) -> dict[str, object]:
    took = round(answer.seconds * 1e9)
    durations = {"total_duration": took, "load_duration": 0, "prompt_eval_duration": 0, "eval_duration": took}
    counts = {"prompt_eval_count": answer.prompt_tokens, "eval_count": answer.response_tokens}
    return {**_line(body, put), "done": True, "done_reason": answer.finish, **durations, **counts}


def _entry(served: Served, name: str) -> dict[str, object]:
    tagged = f"{name}{TAG}"
    digest = sha256(f"{name} {served.engine.digest}".encode()).hexdigest()  # clients take equal ones for one model
    return {"name": tagged, "model": tagged, "size": 0, "digest": digest, "details": _details(served)}


def _details(served: Served) -> dict[str, object]:
    model = served.engine.model
    of_it = {"family": "mmerg", "families": ["mmerg"], "parameter_size": "", "quantization_level": ""}
    return {"parent_model": model, "format": "mmerg", **of_it}


def _shown(served: Served, offered: Offered) -> dict[str, object]:
    sees = ["vision"] if offered.system.sees("V") else []  # a model without eyes gets descriptions of faces
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
