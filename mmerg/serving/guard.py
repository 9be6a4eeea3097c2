"""Access: refuses pages of other origins, foreign host names, and with a token everybody without it."""

import asyncio
import ipaddress
import logging
import re
import secrets
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mmerg.serving.refused import HttpError, code_fault, describe_fault

COOKIE = "mmerg"
FOLDER = Path(__file__).parent / "page"
OPEN = ("/health", "/page/page.css", "/page/token.js", "/page/icon.svg")  # need no token
log = logging.getLogger(__name__)
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [  # of every response; frames of faces stay out of the browser's cache
    ("Content-Security-Policy", CSP),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
]


def build_config(app: ASGIApp, connections: int) -> uvicorn.Config:
    """Settings of every server. connections: the most at a time."""
    return uvicorn.Config(
        app,
        log_config=None,
        headers=HEADERS,
        server_header=False,
        ws="none",
        lifespan="off",
        limit_concurrency=connections,
        timeout_graceful_shutdown=1,
    )


@dataclass(frozen=True)
class Guard:
    """Middleware that refuses requests before they reach `app`. token: "" for none. hosts: names accepted in the Host
    header besides addresses, against DNS rebinding; empty for all. origins: other pages that may send requests. most:
    bytes of a request. refuse: writes an error in the form of the path's API."""

    app: ASGIApp
    token: str
    hosts: frozenset[str]
    origins: Collection[str]
    most: int
    refuse: Callable[[str, HttpError], Response]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, received, request = False, 0, HTTPConnection(scope)
        room = self.most - int(request.headers.get("content-length", 0))

        async def limited() -> Message:
            nonlocal received
            message = await receive() if room >= 0 else {}
            received += len(message.get("body", b""))
            if room < 0 or received > self.most:
                raise HTTPException(413, "the request is too large: send fewer or smaller files")
            return message

        async def sent(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await (self._check(request) or self.app)(scope, limited, sent)
        except asyncio.CancelledError:
            if not started:
                stopped = HttpError("the server was stopped", hint="start it again, then try again", status=503)
                await self.refuse(scope["path"], stopped)(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - uvicorn would log the text, which may quote the user
            log.error("%s", describe_fault(error))  # noqa: TRY400
            if not started:
                await self.refuse(scope["path"], code_fault())(scope, receive, send)

    def _check(self, request: HTTPConnection) -> Response | None:
        path, origin = request.url.path, request.headers.get("origin")
        host = request.headers.get("host", "").lower()
        if self.hosts and not (is_address(name := re.sub(r":\d*$", "", host)) or name in self.hosts):
            hint = f"if {name} is meant for this server, start the server with names=[{name}]"
            return self.refuse(
                path, HttpError(f"this server does not accept the host name {name}", hint=hint, status=421)
            )
        if origin is not None and origin.partition("://")[2].lower() != host and origin not in self.origins:
            hint = "start the server with the origin in origins=[…], or let the proxy forward the Host header"
            return self.refuse(path, HttpError("requests from another origin are not allowed", hint=hint, status=403))
        if not self.token or path in OPEN:
            return None
        if path == "/" and self._is_token(request.query_params.get("token", "")):
            response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, self.token, httponly=True)
            return response
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if (scheme.lower() == "bearer" and self._is_token(key)) or self._is_token(request.cookies.get(COOKIE, "")):
            return None
        hint = "open the address that the server printed, or send the token as `Authorization: Bearer …`"
        asks = path == "/" and "text/html" in request.headers.get("accept", "")
        refused = HttpError("the token is missing or wrong", hint=hint, status=401)
        return FileResponse(FOLDER / "token.html", 401) if asks else self.refuse(path, refused)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())


def served_names(host: str, names: Iterable[str]) -> frozenset[str]:
    """The names to accept in the Host header; empty for all: where other machines have access the token protects."""
    return frozenset(name.lower() for name in ("localhost", host, *names)) if is_loopback(host) else frozenset()


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
