"""The page at / and its requests: turns as they happen, checks of files, and saved chats."""

import json
import socket
from collections.abc import Iterator
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
from mmerg.frames.store import InMemoryFrameStore
from mmerg.runs.manifest import DRY
from mmerg.serving.guard import is_loopback
from mmerg.serving.messages import read_body
from mmerg.serving.offered import ServedSystem, titled
from mmerg.serving.refused import HttpError, error_fields
from mmerg.serving.saving import SavedReply, save
from mmerg.serving.speech import SECONDS
from mmerg.serving.talk import ReplyRequest, Utterance, check_talk
from mmerg.serving.turns import AppState, reply_updates, started, stream
from mmerg.serving.updates import SILENT, Update
from mmerg.settings.backbone import Seed

FOLDER = Path(__file__).parent / "page"
FORM = "send multipart/form-data with one field `talk`, and one `clip` or several files `picture`"
ALIVE = "Ollama is running"  # what Ollama's own programs look for


class TurnText(BaseModel):
    who: Literal["you", "mmerg"]
    text: str


class Talk(BaseModel):
    model_config = ConfigDict(extra="forbid")

    chat: Annotated[str, Field(pattern=r"^[0-9a-zA-Z-]{1,64}$")]
    system: str
    turns: list[TurnText]
    seed: Seed | None = None


class Saved(BaseModel):
    replies: list[SavedReply]


def routes(state: AppState) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    limits = state.settings.limits
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
        return _setup(state)

    @router.post("/page/turns", form_limits={"max_files": limits.pictures + 1, "max_fields": 1, "max_part_size": most})
    async def turns(
        talk: Annotated[Json[Talk], Form()],
        clip: UploadFile | None = None,
        picture: list[UploadFile] | None = None,
    ) -> Response:
        uploads = [await _upload(clip, "clip")] if clip else []
        uploads += [await _upload(file, "picture") for file in picture or ()]
        sent = [Utterance(turn.who, turn.text) for turn in talk.turns]
        if sent:
            sent[-1] = replace(sent[-1], uploads=tuple(uploads))
        request = ReplyRequest(state.model(talk.system), talk.chat, check_talk(sent, limits), talk.seed)
        updates = await started(reply_updates(state, request, traced=True))
        return stream(updates, _events, _failed, "text/event-stream")

    @router.post("/page/file")
    async def check(clip: UploadFile | None = None, picture: UploadFile | None = None) -> Response:
        """The first keyframe of a file as a JPEG, or why there is none."""
        file = clip or picture
        if not file:
            raise HttpError("there is no file", hint=FORM)
        upload = await _upload(file, "clip" if clip else "picture")
        check_talk([Utterance("you", "", (upload,))], limits)
        store = InMemoryFrameStore()
        try:
            frames = await run_in_threadpool(upload.frames, state.settings.frames, store)
        except ClipError as error:
            return JSONResponse(error_fields(error))
        return Response(store.read(frames[0].sha256), media_type="image/jpeg")

    @router.post("/page/speech")
    async def hear(request: Request) -> dict[str, str]:
        """Transcribes the sound in the body."""
        if not state.speech:
            raise HttpError("speech is not transcribed here", hint="start with speech.model=small", status=403)
        return {"words": await state.speech.transcribe(await request.body())}

    @router.post("/page/save")
    async def keep(request: Request) -> dict[str, object]:
        replies = (await read_body(request, Saved)).replies
        folders = await run_in_threadpool(save, Path(state.settings.runs), replies)
        return {"runs": [str(folder) for folder in folders]}

    return router


async def _upload(file: UploadFile, kind: Kind) -> Upload:
    return Upload(kind, await file.read())


def _events(update: Update) -> Iterator[bytes]:
    if update.name == SILENT:
        yield b": at work\n\n"  # a comment
    else:
        yield f"event: {update.name}\ndata: {json.dumps(update.fields)}\n\n".encode()


def _failed(error: MmergError) -> bytes:
    return next(_events(Update("failed", error_fields(error))))


def _setup(state: AppState) -> dict[str, object]:
    settings, backbone = state.settings, {"name": "dry run", "note": "no model is called; replies are placeholders"}
    if state.engine.backend != DRY:
        backbone = {"name": settings.backbone.name, "note": settings.backbone.note}
    server = f"the mmerg server on the computer named {socket.gethostname()}"
    remote = [host for host in settings.backend.hosts if not is_loopback(urlsplit(host).hostname or "localhost")]
    return {
        "systems": [_system(served) for served in state.offered.values()],
        "backbone": backbone,
        "goes_to": " and the model at ".join([server, *remote]),  # where text and files are sent
        "limits": settings.limits.plain() | {"clip_seconds": settings.frames.max_seconds},
        "speech_seconds": SECONDS if state.speech else 0,
    }


def _system(served: ServedSystem) -> dict[str, object]:
    system = served.system
    return {
        "id": served.id,
        "name": system.name,
        "title": titled(system.name),
        "agents": [{"name": agent.name, "title": titled(agent.name), "symbol": agent.gives} for agent in system.agents],
        "audits": system.auditor is not None,
        "sees": system.sees("V"),
    }
