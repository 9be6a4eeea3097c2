"""Access checks: other origins, foreign host names, a missing token, and requests that are too large."""

import ipaddress
import logging
import re
import secrets
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.requests import HTTPConnection
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mmerg.serving.http_error import HttpError, describe_bug

COOKIE = "mmerg"
FOLDER = Path(__file__).parent / "page"
OPEN_PATHS = ("/health", "/page/base.css", "/page/page.css", "/page/token.js", "/page/icon.svg")  # need no token
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [  # of every response; no-store keeps frames of faces out of the browser's cache
    ("Content-Security-Policy", CSP),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
]


def build_config(app: ASGIApp, connections: int) -> uvicorn.Config:
    """Builds the settings that all servers share. connections: the limit of connections at a time."""
    logging.getLogger("uvicorn.error").addFilter(_remove_text)
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
    """Middleware that refuses requests before they reach `app`."""

    app: ASGIApp
    token: str  # that requests need; "" for none
    hosts: frozenset[str]  # accepted in the Host header besides IP addresses, against DNS rebinding; empty for all
    origins: Collection[str]  # others whose pages may send requests
    max_bytes: int  # of a request
    refuse: Callable[[str, HttpError], Response]  # builds the response to an error from the path and the error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._check(HTTPConnection(scope)) or self.app)(scope, receive, send)

    def _check(self, request: HTTPConnection) -> Response | None:
        """Returns the response to a request that must not reach the app, else None."""
        path, origin = request.url.path, request.headers.get("origin")
        host = request.headers.get("host", "").lower()
        name = re.sub(r":\d*$", "", host)
        if self.hosts and name not in self.hosts and not is_address(name):
            hint = f"if {name} is meant for this server, start the server with names=[{name}]"
            what = f"this server does not accept the host name {name}"
            return self.refuse(path, HttpError(what, hint=hint, status=421))
        if origin is not None and origin.partition("://")[2].lower() != host and origin not in self.origins:
            hint = "start the server with the origin in origins=[…], or let the proxy forward the Host header"
            return self.refuse(path, HttpError("requests from another origin are not allowed", hint=hint, status=403))
        if self.token and path not in OPEN_PATHS and (response := self._check_token(request)):
            return response
        if int(request.headers.get("content-length", 0)) > self.max_bytes:  # RequestBodyLimitMiddleware gives no hint
            error = HttpError("the request is too large", hint="send fewer or smaller files", status=413)
            return self.refuse(path, error)
        return None

    def _check_token(self, request: HTTPConnection) -> Response | None:
        path = request.url.path
        if path == "/" and self._is_token(request.query_params.get("token", "")):
            response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, self.token, httponly=True)
            return response
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if (scheme.lower() == "bearer" and self._is_token(key)) or self._is_token(request.cookies.get(COOKIE, "")):
            return None
        if path == "/" and "text/html" in request.headers.get("accept", ""):
            return FileResponse(FOLDER / "token.html", 401)
        hint = "open the address that the server printed, or send the token as `Authorization: Bearer …`"
        return self.refuse(path, HttpError("the token is missing or wrong", hint=hint, status=401))

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self.token.encode())


def list_host_names(host: str, names: Iterable[str]) -> frozenset[str]:
    """Returns the names to accept in the Host header of a server at `host`, and its further names. The result is empty,
    which accepts all names, if other machines have access: the token protects such a server."""
    if not is_loopback(host):
        return frozenset()
    return frozenset(name.lower() for name in ("localhost", host, *names))


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def _remove_text(record: logging.LogRecord) -> bool:
    """Replaces the exception of a bug, whose text may quote the user. Requests that the server's end cancels are no
    bugs."""
    if record.exc_info:
        error = record.exc_info[1]
        record.msg, record.exc_info = describe_bug(error) if isinstance(error, Exception) else "", None
    return bool(record.msg)
