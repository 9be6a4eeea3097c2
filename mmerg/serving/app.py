"""The server as an ASGI app: routes, errors in the shape of each API, and the guard in front."""

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response

from mmerg.errors import MmergError
from mmerg.serving import ollama, openai, page
from mmerg.serving.guard import Guard
from mmerg.serving.heads import Watched
from mmerg.serving.refused import RefusedError, code_fault, error_fields, status_of
from mmerg.serving.served import Served

FIELDS = 2**20  # bytes of a request besides its files


def app_of(served: Served, token: str = "") -> Guard:
    """The app. token: see `token_of`."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    for api in (openai, ollama, page):
        app.include_router(api.routes(served))

    @app.exception_handler(MmergError)
    async def expected(request: Request, error: MmergError) -> Response:
        return refuse(request.url.path, error)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        what = "there is nothing at this address" if error.status_code == 404 else str(error.detail)
        return refuse(request.url.path, RefusedError(what, status=error.status_code))

    @app.exception_handler(Exception)
    async def bug(request: Request, _: Exception) -> Response:
        return refuse(request.url.path, code_fault())

    limits = served.settings.limits
    files = max(limits.clip_mb, limits.pictures * limits.picture_mb)
    room = files * 2**20 * 4 // 3 + limits.text * limits.turns * 12 + FIELDS  # pictures may come as base64
    return Guard(app, served.settings.names, token, room, refuse)


def server_of(served: Served, token: str = "") -> uvicorn.Server:
    """A server that runs the app on a socket. At its end turns under way have one second to finish."""
    config = uvicorn.Config(
        app_of(served, token),
        access_log=False,
        log_level="warning",
        server_header=False,
        http=Watched,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def refuse(path: str, error: MmergError) -> Response:
    """The response for an error, in the form of the path's API."""
    status = status_of(error)
    if path.startswith("/v1"):
        return JSONResponse(openai.failed(error), status)
    return JSONResponse(ollama.failed(error) if path.startswith("/api") else error_fields(error), status)
