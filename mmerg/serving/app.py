"""The server as an ASGI app: routes, errors in the format of each API, and access checks."""

import logging
import socket

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from mmerg.errors import MmergError
from mmerg.serving import ollama, openai, page
from mmerg.serving.guard import Guard, build_config, list_host_names
from mmerg.serving.http_error import HttpError, build_internal_error, error_as_dict, get_status
from mmerg.serving.turns import AppState

FIELD_BYTES = 2**20  # limit of a request without its text and files
SPARE_CONNECTIONS = 100  # besides those of turns


def build_app(state: AppState, token: str) -> FastAPI:
    """Builds the app. token: see `choose_token`."""
    limits, origins = state.settings.limits, state.settings.origins
    file_bytes = max(limits.clip_mb, limits.pictures * limits.picture_mb) * 2**20
    text_bytes = limits.text * limits.turns * 12  # JSON may spell a character as \uXXXX\uXXXX
    max_bytes = file_bytes * 4 // 3 + text_bytes + FIELD_BYTES  # pictures may be sent as base64
    hosts = list_host_names(state.settings.host, state.settings.names)
    app = FastAPI(
        title="mmerg",
        docs_url=None,  # FastAPI's page loads scripts from another server
        redoc_url=None,
        middleware=[
            Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"]),
            Middleware(Guard, token=token, hosts=hosts, origins=origins, max_bytes=max_bytes, refuse=build_error),
            Middleware(RequestBodyLimitMiddleware, max_body_size=max_bytes),
        ],
    )
    for api in (openai, ollama, page):
        app.include_router(api.routes(state))
    app.mount("/page", StaticFiles(directory=page.FOLDER, packages=[("mmerg", "styles")]))

    @app.get("/health")
    async def health() -> dict[str, object]:
        return {"status": "ok"}

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return FileResponse(page.FOLDER / "docs.html")

    @app.exception_handler(MmergError)
    async def handle_mmerg_error(request: Request, error: MmergError) -> Response:
        return build_error(request.url.path, error)

    @app.exception_handler(RequestValidationError)
    async def handle_invalid_form(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"][1:]))
        what = f"the form cannot be read: {field}: {first['msg']}"
        return build_error(request.url.path, HttpError(what, hint=page.FORM_HINT))

    @app.exception_handler(HTTPException)
    async def handle_http_exception(request: Request, error: HTTPException) -> Response:
        return build_error(request.url.path, HttpError(error.detail, status=error.status_code))

    @app.exception_handler(Exception)
    async def handle_bug(request: Request, _: Exception) -> Response:
        return build_error(request.url.path, build_internal_error())

    @app.exception_handler(ClientDisconnect)
    async def handle_disconnect(*_: object) -> Response:
        return Response(status_code=499)  # nobody receives it

    return app


class Server(uvicorn.Server):
    """A server that stops running turns and transcriptions before it ends, so that their clients get an error."""

    def __init__(self, state: AppState, token: str = "") -> None:
        logging.getLogger("uvicorn.access").addFilter(_remove_query)
        super().__init__(build_config(build_app(state, token), state.turn_runner.capacity + SPARE_CONNECTIONS))
        self._state = state

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._state.turn_runner.stop()
        if self._state.speech:
            self._state.speech.close()
        await super().shutdown(sockets)


def _remove_query(record: logging.LogRecord) -> bool:
    """Removes the query, which may hold the token, from the path in uvicorn's access log."""
    client, method, path, *rest = record.args or ()
    record.args = (client, method, str(path).partition("?")[0], *rest)
    return True


def build_error(path: str, error: MmergError) -> Response:
    """Builds the response to an error, in the format of the API that `path` belongs to."""
    status = get_status(error)
    if path.startswith("/v1"):
        return JSONResponse(openai.build_error(error), status)
    if path.startswith("/api"):
        return JSONResponse(ollama.build_error(error), status)
    return JSONResponse(error_as_dict(error), status)
