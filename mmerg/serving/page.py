"""The page at / and what it asks: turns as they happen, frames, chats that are saved or forgotten."""

import json
import re
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from mmerg.errors import MmergError
from mmerg.runs.manifest import DRY
from mmerg.serving.guard import is_loopback
from mmerg.serving.messages import parse_json, read_body
from mmerg.serving.offered import Offered, titled
from mmerg.serving.refused import RefusedError, error_fields
from mmerg.serving.saving import save
from mmerg.serving.served import Served
from mmerg.serving.talk import ReplyRequest, Utterance, check_talk
from mmerg.serving.turns import Streamed, reply_updates, started
from mmerg.serving.updates import SILENT, Update
from mmerg.serving.uploads import Upload
from mmerg.settings.backbone import Seed

FOLDER = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
FORM = "multipart/form-data with one field `talk`, and a clip or pictures"
ALIVE = "Ollama is running"  # what Ollama's own programs look for
ChatName = Annotated[str, Field(pattern=r"^[0-9a-zA-Z-]{1,64}$")]


class TurnText(BaseModel):
    who: Literal["you", "mmerg"]
    text: str


class Talk(BaseModel):
    model_config = ConfigDict(extra="forbid")

    chat: ChatName
    system: str
    turns: list[TurnText]
    keep: bool = False
    seed: Seed | None = None


class Saved(BaseModel):
    turns: list[str]  # the ids of replies, from their updates `accepted`


def routes(served: Served) -> APIRouter:
    router = APIRouter()
    files = {file.name: file.read_bytes() for file in sorted(FOLDER.glob("*")) if file.suffix in TYPES}

    @router.get("/")
    async def page(request: Request) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            return Response(files["index.html"], media_type=TYPES[".html"])
        return PlainTextResponse(ALIVE)

    @router.head("/")
    async def alive() -> Response:
        return PlainTextResponse(ALIVE)

    @router.get("/page/setup")
    async def setup() -> dict[str, object]:
        return _setup(served)

    @router.post("/page/turns")
    async def turns(request: Request) -> Response:
        talk, uploads = await _received(request, served)
        sent = [Utterance(turn.who, turn.text) for turn in talk.turns]
        if sent:
            sent[-1] = replace(sent[-1], uploads=uploads)
        kept = check_talk(sent, served.settings.limits)
        asked = ReplyRequest(served.model(talk.system), talk.chat, kept, talk.seed, owner=talk.chat)
        turn = served.chats.begin(talk.chat, asked.offered.id, len(sent), kept=talk.keep)
        updates = await started(reply_updates(served, asked, turn))
        return Streamed(_streamed(updates), media_type="text/event-stream")

    @router.get("/page/frames/{name}")
    async def frame(name: str) -> Response:
        data = served.chats.frame(name.removesuffix(".jpg")) if re.fullmatch(r"[0-9a-f]{64}\.jpg", name) else None
        if data is None:
            raise RefusedError("there is no such frame", where="the chats in memory", status=404)
        return Response(data, media_type="image/jpeg")

    @router.post("/page/save")
    async def keep(request: Request) -> dict[str, object]:
        if not served.settings.save:
            raise RefusedError("chats are not saved here", where="save=false", hint="start with save=true", status=403)
        wanted = (await read_body(request, Saved)).turns
        turns = served.chats.ended(wanted)
        folders = await run_in_threadpool(save, served, turns)
        return {"runs": [str(folder) for folder in folders], "missing": len(wanted) - len(turns)}

    @router.delete("/page/chats/{name}")
    async def forget(name: str) -> dict[str, bool]:
        return {"forgotten": served.chats.pop(name, None) is not None}

    @router.get("/page/{name}")
    async def file(name: str) -> Response:
        if name not in files:
            raise RefusedError("there is no such file", where="the page", status=404)
        return Response(files[name], media_type=TYPES[Path(name).suffix])

    return router


async def _streamed(updates: AsyncGenerator[Update, None]) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(updates):
            async for update in updates:
                yield _event(update)
    except MmergError as error:
        yield _event(Update("failed", error_fields(error)))


def _event(update: Update) -> bytes:
    if update.name == SILENT:
        return b": at work\n\n"  # a comment
    return f"event: {update.name}\ndata: {json.dumps(update.fields)}\n\n".encode()


async def _received(request: Request, served: Served) -> tuple[Talk, tuple[Upload, ...]]:
    """The form's talk and files. Raises RefusedError."""
    limits = served.settings.limits
    most = limits.text * limits.turns * 12  # bytes: JSON may spell a character as \uXXXX\uXXXX
    try:
        async with request.form(max_files=limits.pictures + 1, max_fields=1, max_part_size=most) as form:
            files = [(name, await one.read()) for name, one in form.multi_items() if isinstance(one, UploadFile)]
            talk = await run_in_threadpool(parse_json, str(form.get("talk", "")).encode(), Talk)
    except HTTPException as error:
        raise RefusedError(f"the form cannot be read: {error.detail}", where="the form", hint=FORM) from error
    names = [name for name, _ in files]
    if not set(names) <= {"clip", "picture"} or names.count("clip") > 1:
        what = f"these files cannot be taken: {', '.join(names)!r:.80}"
        raise RefusedError(what, where="files", hint="one `clip`, or several called `picture`")
    return talk, tuple(Upload("clip" if name == "clip" else "picture", data) for name, data in files)


def _setup(served: Served) -> dict[str, object]:
    settings, backbone = served.settings, {"name": "dry run", "note": "no model is asked: replies say nothing"}
    if served.engine.backend != DRY:
        backbone = {"name": settings.backbone.name, "note": settings.backbone.note}
    remote = [host for host in settings.backend.hosts if not is_loopback(urlsplit(host).hostname or "localhost")]
    return {
        "systems": [_system(offered) for offered in served.offered.values()],
        "backbone": backbone,
        "goes_to": " and the model at ".join([f"mmerg on {socket.gethostname()}", *remote]),  # all files that are sent
        "limits": settings.limits.plain() | {"clip_seconds": settings.frames.max_seconds},
        "saves": settings.save,
    }


def _system(offered: Offered) -> dict[str, object]:
    system = offered.system
    agents = [{"name": one.name, "title": titled(one.name), "symbol": one.gives} for one in system.agents]
    return {
        "id": offered.id,
        "name": system.name,
        "title": titled(system.name),
        "agents": agents,
        "audits": system.auditor is not None,
    }
