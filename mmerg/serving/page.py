"""The page at / and what it asks: turns as they happen, frames, chats that are saved or forgotten."""

import json
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi.responses import FileResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field, Json
from starlette.concurrency import run_in_threadpool

from mmerg.engine.uploads import Upload
from mmerg.errors import MmergError
from mmerg.runs.manifest import DRY
from mmerg.serving.guard import is_loopback
from mmerg.serving.messages import read_body
from mmerg.serving.offered import ServedSystem, titled
from mmerg.serving.refused import HttpError, error_fields
from mmerg.serving.saving import save
from mmerg.serving.served import AppState
from mmerg.serving.talk import ReplyRequest, Utterance, check_talk
from mmerg.serving.turns import Streamed, reply_updates, started
from mmerg.serving.updates import SILENT, Update
from mmerg.settings.backbone import Seed

FOLDER = Path(__file__).parent / "page"
FORM = "send multipart/form-data with one field `talk`, and one `clip` or several files `picture`"
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


def routes(served: AppState) -> APIRouter:
    router = APIRouter()
    limits = served.settings.limits
    most = limits.text * limits.turns * 12  # bytes: JSON may spell a character as \uXXXX\uXXXX

    @router.get("/")
    async def page(request: Request) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            return FileResponse(FOLDER / "index.html")
        return PlainTextResponse(ALIVE)

    @router.head("/")
    async def alive() -> Response:
        return PlainTextResponse(ALIVE)

    @router.get("/page/setup")
    async def setup() -> dict[str, object]:
        return _setup(served)

    @router.post("/page/turns", form_limits={"max_files": limits.pictures + 1, "max_fields": 1, "max_part_size": most})
    async def turns(
        talk: Annotated[Json[Talk], Form()],
        clip: UploadFile | None = None,
        picture: list[UploadFile] | None = None,
    ) -> Response:
        uploads = [Upload("clip", await clip.read())] if clip else []
        uploads += [Upload("picture", await one.read()) for one in picture or ()]
        sent = [Utterance(turn.who, turn.text) for turn in talk.turns]
        if sent:
            sent[-1] = replace(sent[-1], uploads=tuple(uploads))
        asked = ReplyRequest(served.model(talk.system), talk.chat, check_talk(sent, limits), talk.seed)
        turn = served.chats.begin(talk.chat, asked.offered.id, len(sent), kept=talk.keep)
        updates = await started(reply_updates(served, asked, turn))
        return Streamed(_streamed(updates), media_type="text/event-stream")

    @router.get("/page/frames/{sha256}.jpg")
    async def frame(sha256: str) -> Response:
        data = served.chats.frame(sha256)
        if data is None:
            raise HttpError("there is no such frame", where="the chats in memory", status=404)
        return Response(data, media_type="image/jpeg")

    @router.post("/page/save")
    async def keep(request: Request) -> dict[str, object]:
        if not served.settings.save:
            raise HttpError("chats are not saved here", where="save=false", hint="start with save=true", status=403)
        wanted = (await read_body(request, Saved)).turns
        turns = served.chats.ended(wanted)
        folders = await run_in_threadpool(save, served, turns)
        return {"runs": [str(folder) for folder in folders], "missing": len(wanted) - len(turns)}

    @router.delete("/page/chats/{name}")
    async def forget(name: str) -> dict[str, bool]:
        return {"forgotten": served.chats.pop(name, None) is not None}

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


def _setup(served: AppState) -> dict[str, object]:
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


def _system(offered: ServedSystem) -> dict[str, object]:
    system = offered.system
    agents = [{"name": one.name, "title": titled(one.name), "symbol": one.gives} for one in system.agents]
    return {
        "id": offered.id,
        "name": system.name,
        "title": titled(system.name),
        "agents": agents,
        "audits": system.auditor is not None,
    }
