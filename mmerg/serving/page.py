"""The chat page at / and the routes that it uses: turns, checks of files, speech, and saved chats."""

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
from mmerg.serving.http_error import HttpError, error_as_dict
from mmerg.serving.messages import read_body
from mmerg.serving.saving import SavedReply, save
from mmerg.serving.speech import MAX_SECONDS
from mmerg.serving.systems import ServedSystem, get_title
from mmerg.serving.talk import ReplyRequest, Utterance, check_talk
from mmerg.serving.turns import AppState, run_turn, stream_response
from mmerg.serving.updates import SILENT, Update
from mmerg.settings.backbone import Seed

FOLDER = Path(__file__).parent / "page"
FORM_HINT = "send multipart/form-data with one field `talk`, and one `clip` or several files `picture`"
ALIVE = "Ollama is running"  # Ollama's own programs look for this text


class TurnText(BaseModel):
    role: Literal["user", "assistant"]
    text: str


class TalkForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    chat: Annotated[str, Field(pattern=r"^[0-9a-zA-Z-]{1,64}$")]
    system: str
    turns: list[TurnText]
    seed: Seed | None = None


class SaveRequest(BaseModel):
    replies: list[SavedReply]


def routes(state: AppState) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    limits = state.settings.limits
    talk_bytes = limits.text * limits.turns * 12  # JSON may spell a character as \uXXXX\uXXXX

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
        return _describe_server(state)

    @router.post(
        "/page/turns", form_limits={"max_files": limits.pictures + 1, "max_fields": 1, "max_part_size": talk_bytes}
    )
    async def turns(
        talk: Annotated[Json[TalkForm], Form()],
        clip: UploadFile | None = None,
        picture: list[UploadFile] | None = None,
    ) -> Response:
        uploads = [await _upload(clip, "clip")] if clip else []
        uploads += [await _upload(file, "picture") for file in picture or ()]
        utterances = [Utterance(turn.role, turn.text) for turn in talk.turns]
        if utterances:
            utterances[-1] = replace(utterances[-1], uploads=tuple(uploads))
        request = ReplyRequest(state.find_system(talk.system), talk.chat, check_talk(utterances, limits), talk.seed)
        updates = run_turn(state, request, with_trace=True)
        return stream_response(updates, _write_events, _write_error, "text/event-stream")

    @router.post("/page/file")
    async def check(clip: UploadFile | None = None, picture: UploadFile | None = None) -> Response:
        """Returns the first keyframe of a file as a JPEG, or the error if there is none."""
        file = clip or picture
        if not file:
            raise HttpError("there is no file", hint=FORM_HINT)
        upload = await _upload(file, "clip" if clip else "picture")
        check_talk([Utterance("user", "", (upload,))], limits)
        store = InMemoryFrameStore()
        try:
            frames = await run_in_threadpool(upload.extract_frames, state.settings.frames, store)
        except ClipError as error:
            return JSONResponse(error_as_dict(error))
        return Response(store.read(frames[0].sha256), media_type="image/jpeg")

    @router.post("/page/speech")
    async def transcribe(request: Request) -> dict[str, str]:
        """Transcribes the sound in the body."""
        if not state.speech:
            hint = "start it with speech.model=small"
            raise HttpError("this server does not transcribe speech", hint=hint, status=403)
        return {"text": await state.speech.transcribe(await request.body())}

    @router.post("/page/save")
    async def save_replies(request: Request) -> dict[str, object]:
        replies = (await read_body(request, SaveRequest)).replies
        folders = await run_in_threadpool(save, Path(state.settings.runs), replies)
        return {"runs": [str(folder) for folder in folders]}

    return router


async def _upload(file: UploadFile, kind: Kind) -> Upload:
    return Upload(kind, await file.read())


def _write_events(update: Update) -> Iterator[bytes]:
    if update.name == SILENT:
        yield b": at work\n\n"  # a comment
    else:
        yield f"event: {update.name}\ndata: {json.dumps(update.fields)}\n\n".encode()


def _write_error(error: MmergError) -> bytes:
    return next(_write_events(Update("failed", error_as_dict(error))))


def _describe_server(state: AppState) -> dict[str, object]:
    settings, backbone = state.settings, {"name": "dry run", "note": "no model is called; replies are placeholders"}
    if state.engine.backend != DRY:
        backbone = {"name": settings.backbone.name, "note": settings.backbone.note}
    server = f"the mmerg server on the computer named {socket.gethostname()}"
    remote = [host for host in settings.backend.hosts if not is_loopback(urlsplit(host).hostname or "localhost")]
    return {
        "systems": [_describe_system(served) for served in state.systems.values()],
        "backbone": backbone,
        "destination": " and the model at ".join([server, *remote]),  # where text and files are sent
        "limits": settings.limits.plain() | {"clip_seconds": settings.frames.max_seconds},
        "speech_seconds": MAX_SECONDS if state.speech else 0,
    }


def _describe_system(served: ServedSystem) -> dict[str, object]:
    system = served.system
    agents = [{"name": agent.name, "title": get_title(agent.name), "symbol": agent.gives} for agent in system.agents]
    return {
        "id": served.id,
        "name": system.name,
        "title": get_title(system.name),
        "agents": agents,
        "audits": system.auditor is not None,
        "sees": system.sees("V"),
    }
