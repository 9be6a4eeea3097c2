"""The server of the rating page, behind the guards of `mmerg serve`.

A rater's link is /#TOKEN. A browser does not send this fragment, so the token is in no log; the page sends it as
`Authorization: Bearer`. Of an item, the server sends only turns, media, responder and replies, the replies in the order
that the rater sees.
"""

import logging
from pathlib import Path
from secrets import compare_digest
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.staticfiles import StaticFiles

from mmerg.errors import MmergError
from mmerg.rating.form import SUBMIT, TAKE
from mmerg.rating.store import AGAIN, OK, RatingEntry, RatingStore
from mmerg.rating.study import MEDIA
from mmerg.serving.guard import Guard, build_config, list_host_names
from mmerg.serving.http_error import HttpError, error_as_dict
from mmerg.settings.commands import RateSettings

FOLDER = Path(__file__).parent / "page"
CONNECTIONS = 200  # at once
BODY = 2**15  # bytes of a request at most
logger = logging.getLogger(__name__)


def build_server(store: RatingStore, links: dict[str, str], settings: RateSettings) -> uvicorn.Server:
    """Builds a server that runs on a socket. links: the token of each rater."""
    hosts = list_host_names(settings.host, settings.names)
    guard = Middleware(Guard, token="", hosts=hosts, origins=(), max_bytes=BODY, refuse=lambda _, error: _refuse(error))
    limit = Middleware(RequestBodyLimitMiddleware, max_body_size=BODY)
    app = FastAPI(openapi_url=None, middleware=[guard, limit])
    for kind in (MmergError, RequestValidationError):
        app.add_exception_handler(kind, _respond_to_error)
    log, study = store.log, store.log.study

    def get_rater(request: Request) -> str:
        token = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
        for rater, rater_token in links.items():
            if compare_digest(token, rater_token.encode()):
                return rater
        hint = "open the complete link you were sent, including the part after #"
        raise HttpError("this link is not valid", hint=hint, status=401)

    Rater = Annotated[str, Depends(get_rater)]  # noqa: N806 - a type

    @app.get("/")
    def get_page() -> Response:
        return FileResponse(FOLDER / "index.html")

    @app.get("/study")
    def get_study(rater: Rater) -> dict[str, object]:
        form, places, done = study.form, len(log.orders[rater]), set(log.list_submitted(rater))
        first = next((place for place in range(places) if place not in done), None)
        return {
            **form.model_dump(mode="json", include={"title", "replies", "instructions", "consent", "questions"}),
            "practice": study.practice,
            "places": places,
            "done": len(done),
            "next": store.take(rater) if first is None else first,
            "agreed": rater in log.last,
        }

    @app.get("/places/{place}")
    def get_item(rater: Rater, place: int) -> dict[str, object]:
        shown = log.get_shown(rater, place)
        item = study.items[shown.item]
        answers = log.answers.get((rater, place), {})
        return {
            **item.model_dump(mode="json", include={"history", "responder"}),
            "replies": item.replies[::-1] if shown.swap else item.replies,
            "answers": {name: value for name, value in answers.items() if name != SUBMIT},
        }

    @app.post("/answers")
    def save_answer(rater: Rater, entry: RatingEntry) -> dict[str, bool]:
        if entry.question in (SUBMIT, TAKE):
            raise HttpError(f"{entry.question} is not a question", where="answers")
        store.save(entry.model_copy(update={"rater": rater, "at": ""}))
        return {"saved": True}

    @app.post("/submit")
    def submit(rater: Rater, entry: RatingEntry) -> dict[str, object]:
        place = entry.place
        item, answers = study.items[log.get_shown(rater, place).item], log.answers.get((rater, place), {})
        if missing := [name for name in study.form.questions if name not in answers]:
            raise HttpError(f"please answer: {', '.join(missing)}", where=f"place {place}", status=409)
        before, wrong = answers.get(SUBMIT), log.fails_check(rater, place)
        value = AGAIN if wrong and before is None else OK  # a rater who fails a loud check answers it once more
        store.save(entry.model_copy(update={"rater": rater, "question": SUBMIT, "value": value, "at": ""}))
        explain = before is None and (wrong or place < study.practice)
        next_place = place + 1 if place + 1 < len(log.orders[rater]) else store.take(rater)
        return {"again": value == AGAIN, "fits": not wrong, "message": item.why if explain else "", "next": next_place}

    @app.get("/media/{name}", dependencies=[Depends(get_rater)])
    def get_media(name: str) -> Response:
        if not any(name in turn.media for item in study.items.values() for turn in item.history):
            raise HttpError("there is no such file", where="media", status=404)
        return FileResponse(store.folder / MEDIA / name)

    app.mount("/page", StaticFiles(directory=FOLDER))
    return uvicorn.Server(build_config(app, CONNECTIONS))


async def _respond_to_error(_: Request, error: Exception) -> Response:
    """Responds to an error of the disk with 503, so that the page tries again, and without the study's path."""
    if isinstance(error.__cause__, OSError):
        logger.error("%s", error)
        return _refuse(HttpError("the answer could not be saved", status=503))
    return _refuse(error if isinstance(error, MmergError) else HttpError("the request cannot be read"))


def _refuse(error: MmergError) -> Response:
    return JSONResponse(error_as_dict(error), error.status if isinstance(error, HttpError) else 400)
