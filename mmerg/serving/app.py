"""The server as an ASGI app: routes, errors in the form of each API, and the checks in front."""

import logging
import socket

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from mmerg.errors import MmergError
from mmerg.serving import ollama, openai, page
from mmerg.serving.guard import Guard, build_config, served_names
from mmerg.serving.refused import HttpError, error_fields, get_status
from mmerg.serving.turns import AppState

FIELDS = 2**20  # bytes of a request besides its files
SPARE = 100  # connections beside those of turns


def build_app(state: AppState, token: str = "") -> FastAPI:
    """The app. token: see `choose_token`."""
    limits, origins = state.settings.limits, state.settings.origins
    files = max(limits.clip_mb, limits.pictures * limits.picture_mb)
    most = files * 2**20 * 4 // 3 + limits.text * limits.turns * 12 + FIELDS  # pictures may come as base64
    hosts = served_names(state.settings.host, state.settings.names)
    app = FastAPI(
        title="mmerg",
        docs_url=None,  # FastAPI's page loads scripts from another server
        redoc_url=None,
        middleware=[
            Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"]),
            Middleware(Guard, token=token, hosts=hosts, origins=origins, most=most, refuse=refuse),
        ],
    )
    for api in (openai, ollama, page):
        app.include_router(api.routes(state))
    app.mount("/page", StaticFiles(directory=page.FOLDER))

    @app.get("/health")
    async def health() -> dict[str, object]:
        return {"status": "ok"}

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return FileResponse(page.FOLDER / "docs.html")

    @app.exception_handler(MmergError)
    async def expected(request: Request, error: MmergError) -> Response:
        return refuse(request.url.path, error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        what = f"the form cannot be read: {'.'.join(map(str, first['loc'][1:]))}: {first['msg']}"
        return refuse(request.url.path, HttpError(what, hint=page.FORM))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        what = "there is nothing at this address" if error.status_code == 404 else error.detail
        return refuse(request.url.path, HttpError(what, status=error.status_code))

    @app.exception_handler(ClientDisconnect)
    async def gone(*_: object) -> Response:
        return Response(status_code=499)  # nobody receives it

    return app


class Server(uvicorn.Server):
    """Stops turns and transcriptions before it ends: their clients get an error."""

    def __init__(self, state: AppState, token: str = "") -> None:
        logging.getLogger("uvicorn.access").addFilter(_without_query)
        super().__init__(build_config(build_app(state, token), state.work.most + SPARE))
        self._state = state

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._state.work.stop()
        if self._state.speech:
            self._state.speech.close()
        await super().shutdown(sockets)


def _without_query(record: logging.LogRecord) -> bool:
    """Removes the query, which may hold the token, from the path in uvicorn's access log."""
    client, method, path, *rest = record.args or ()
    record.args = (client, method, str(path).partition("?")[0], *rest)
    return True


def refuse(path: str, error: MmergError) -> Response:
    status = get_status(error)
    if path.startswith("/v1"):
        return JSONResponse(openai.failed(error), status)
    return JSONResponse(ollama.failed(error) if path.startswith("/api") else error_fields(error), status)
