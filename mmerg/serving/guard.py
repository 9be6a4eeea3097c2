"""Who may ask: no page of another origin, and with a token nobody without it.

The names in the Host header are checked by Starlette's TrustedHostMiddleware, against DNS rebinding.
"""

import ipaddress
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mmerg.serving.refused import HttpError
from mmerg.settings.model import ServeSettings

COOKIE = "mmerg"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [  # of every response; frames of faces stay out of the browser's cache
    ("Content-Security-Policy", CSP),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
]


@dataclass(frozen=True)
class Guard:
    """Middleware that refuses requests before they reach `app`. token: "" for none. refuse: writes an error in the
    form of the path's API."""

    app: ASGIApp
    token: str
    refuse: Callable[[str, HttpError], Response]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._check(HTTPConnection(scope)) or self.app)(scope, receive, send)

    def _check(self, request: HTTPConnection) -> Response | None:
        """The response in place of the app's; None where the request may pass."""
        path, origin = request.url.path, request.headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != request.headers.get("host", "").lower():
            hint = "open the page at the server's own address; a proxy must pass the Host header on"
            return self.refuse(path, HttpError("a page of another origin may not ask", hint=hint, status=403))
        if not self.token:
            return None
        if path == "/" and self._is_token(request.query_params.get("token", "")):
            response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, self.token, httponly=True)
            return response
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if (scheme.lower() == "bearer" and self._is_token(key)) or self._is_token(request.cookies.get(COOKIE, "")):
            return None
        hint = "open the address that was printed at the start, or send the token as `Authorization: Bearer …`"
        return self.refuse(path, HttpError("the token is missing or wrong", hint=hint, status=401))

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())


def allowed_hosts(settings: ServeSettings) -> list[str]:
    """The Host headers that are answered. On an address that other machines reach, any: the token protects it."""
    if not is_loopback(settings.host):
        return ["*"]
    return ["localhost", "127.0.0.1", "[::1]", settings.host, *settings.names]


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
