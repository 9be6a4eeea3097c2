"""In front of every route: who may ask (Host, Origin, token), how much may be sent, and what each answer carries.

A page elsewhere whose name is made to point here (DNS rebinding) has a Host of its own; one that sends forms or scripts
here has an Origin of its own. Addresses cannot be rebound, so they are good as a Host.
"""

import asyncio
import ipaddress
import logging
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mmerg.serving.refused import RefusedError, describe_fault

log = logging.getLogger("mmerg.serving")
COOKIE = "mmerg"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Guard:
    """Refuses requests before they reach `app`. names: hosts that are allowed besides addresses and localhost. token:
    "" for none. room: the most bytes of a body. refuse: writes an error in the form of the path's API. sending: seconds
    in which a whole request must come."""

    app: ASGIApp
    names: tuple[str, ...]
    token: str
    room: int
    refuse: Callable[[str, RefusedError], Response]
    sending: float = 120.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.monotonic(), 0
        left, reading = self.room, True
        end = asyncio.get_running_loop().time() + self.sending

        async def counted() -> Message:
            nonlocal left, reading
            try:
                async with asyncio.timeout_at(end if reading else None):
                    message = await receive()
            except TimeoutError:
                what = f"the request was not sent within {self.sending:g} s"
                raise RefusedError(what, hint="send it faster, or send less", status=408) from None
            left -= len(message.get("body", b""))
            reading = message.get("more_body", False)
            if left < 0:
                raise self._too_much()
            return message

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(raw=message["headers"]).update(HEADERS)
            await send(message)

        try:
            await (self._refused(scope) or self.app)(scope, counted, noted)
        except ClientDisconnect:
            pass
        except Exception as error:  # noqa: BLE001 - it was answered
            log.warning("%s", describe_fault(error))
        finally:
            route = getattr(scope.get("route"), "path", "-")  # not the path itself, which may say anything
            log.info("%s %s %d %.3f s", scope["method"], route, status, time.monotonic() - begun)

    def _refused(self, scope: Scope) -> Response | None:
        """What to answer in place of the app; None where it may be asked."""
        headers, path = Headers(scope=scope), scope["path"]
        host, length = headers.get("host", ""), headers.get("content-length", "0")
        origin = headers.get("origin")
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        wrong = None
        if not self._known(host):
            hint = "use the address that was printed at the start, or start with names=[…]"
            wrong = RefusedError("this server is not asked by that name", where="Host", hint=hint, status=421)
        elif origin is not None and origin.partition("://")[2].lower() != host.lower():
            hint = "open the page at the server's own address"
            wrong = RefusedError("another page may not ask this server", where="Origin", hint=hint, status=403)
        elif self.token and (given := _in_query(scope)) and path == "/" and self._right(given):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(COOKIE, self.token, httponly=True, samesite="lax")  # a link elsewhere may open the page
            return answer
        elif self.token and not (
            (scheme.lower() == "bearer" and self._right(credentials)) or self._right(_in_cookie(headers))
        ):
            hint = "open the address that was printed at the start, or send the token as `Authorization: Bearer …`"
            wrong = RefusedError("the token is missing or wrong", hint=hint, status=401)
        elif not length.isdigit() or int(length) > self.room:
            wrong = self._too_much()
        return self.refuse(path, wrong) if wrong else None

    def _right(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _known(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        name = name.strip("[]").lower()
        if name in ("localhost", socket.gethostname().lower(), *map(str.lower, self.names)):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _too_much(self) -> RefusedError:
        hint = "send less, or raise limits.clip_mb or limits.picture_mb"
        return RefusedError(f"the request has more than {self.room // 2**20} MB", hint=hint, status=413)


def _in_query(scope: Scope) -> str:
    return next(iter(parse_qs(str(scope["query_string"], "latin-1")).get("token", [])), "")


def _in_cookie(headers: Headers) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
