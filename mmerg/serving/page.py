"""The page at / and what it asks: turns as they happen, whether a file can be used, chats that are saved."""

import json
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field, Json
from starlette.concurrency import run_in_threadpool

from mmerg.engine.uploads import Kind, Upload
from mmerg.errors import ClipError, MmergError
from mmerg.frames.store import HeldFrames
from mmerg.runs.manifest import DRY
from mmerg.serving.guard import is_loopback
from mmerg.serving.messages import read_body
from mmerg.serving.offered import ServedSystem, titled
from mmerg.serving.refused import HttpError, error_fields
from mmerg.serving.saving import SavedReply, save
from mmerg.serving.served import AppState
from mmerg.serving.speech import SECONDS
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
    seed: Seed | None = None


class Saved(BaseModel):
    replies: list[SavedReply]


def routes(served: AppState) -> APIRouter:
    router = APIRouter(include_in_schema=False)
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
        uploads = [await _upload(clip, "clip")] if clip else []
        uploads += [await _upload(one, "picture") for one in picture or ()]
        sent = [Utterance(turn.who, turn.text) for turn in talk.turns]
        if sent:
            sent[-1] = replace(sent[-1], uploads=tuple(uploads))
        asked = ReplyRequest(served.model(talk.system), talk.chat, check_talk(sent, limits), talk.seed)
        updates = await started(reply_updates(served, asked, traced=True))
        return Streamed(_streamed(updates), media_type="text/event-stream")

    @router.post("/page/file")
    async def check(clip: UploadFile | None = None, picture: UploadFile | None = None) -> Response:
        """Its first keyframe, as a JPEG; why, where it gives none."""
        given = clip or picture
        if not given:
            raise HttpError("there is no file", hint=FORM)
        [upload] = check_talk([Utterance("you", "", (await _upload(given, "clip" if clip else "picture"),))], limits)[
            0
        ].uploads
        store = HeldFrames()
        try:
            frames = await run_in_threadpool(upload.frames, served.settings.frames, store)
        except ClipError as error:
            return JSONResponse(error_fields(error))
        return Response(store.read(frames[0].sha256), media_type="image/jpeg")

    @router.post("/page/speech")
    async def hear(request: Request) -> dict[str, str]:
        """Transcribes the sound in the body."""
        if not served.speech:
            raise HttpError("speech is not transcribed here", hint="start with speech.model=small", status=403)
        return {"words": await served.speech.transcribe(await request.body())}

    @router.post("/page/save")
    async def keep(request: Request) -> dict[str, object]:
        if not served.settings.save:
            raise HttpError("chats are not saved here", where="save=false", hint="start with save=true", status=403)
        replies = (await read_body(request, Saved)).replies
        folders = await run_in_threadpool(save, Path(served.settings.runs), replies)
        return {"runs": [str(folder) for folder in folders]}

    return router


async def _upload(file: UploadFile, kind: Kind) -> Upload:
    return Upload(kind, await file.read())


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
    settings, backbone = served.settings, {"name": "dry run", "note": "no model is called; replies are placeholders"}
    if served.engine.backend != DRY:
        backbone = {"name": settings.backbone.name, "note": settings.backbone.note}
    remote = [host for host in settings.backend.hosts if not is_loopback(urlsplit(host).hostname or "localhost")]
    return {
        "systems": [_system(offered) for offered in served.offered.values()],
        "backbone": backbone,
        "goes_to": " and the model at ".join([f"mmerg on {socket.gethostname()}", *remote]),  # all files that are sent
        "limits": settings.limits.plain() | {"clip_seconds": settings.frames.max_seconds},
        "saves": settings.save,
        "speech_seconds": SECONDS if served.speech else 0,
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
        "sees": system.sees("V"),
    }
