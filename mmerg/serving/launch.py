"""Runs the server, from settings to an exit code; `mmerg/serve.py` is the command."""

from __future__ import annotations

import gc
import logging
import os
import re
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mmerg.console.terminal import console, escape
from mmerg.errors import ConfigError
from mmerg.experiment.backbone import BackbonePlan
from mmerg.serving.offered import offer
from mmerg.settings.commands import ServeSettings

if TYPE_CHECKING:
    from mmerg.serving.turns import AppState

TOKEN = "MMERG_TOKEN"
IDLE = ("protocol", "limit", "only_failed", "ids", "repeats", "name", "tags")  # settings of runs
EVERYWHERE = ("0.0.0.0", "::")
PATIENCE = 5.0  # seconds that a turn waits for hosts to come back, as a user is waiting


def serve(settings: ServeSettings, overrides: Sequence[str], own: Sequence[Path]) -> int:
    """Serves until a signal comes. own: the user's folders of configs. Raises MmergError."""
    _refuse_idle(overrides)
    check_packages()
    from mmerg.serving.app import Server
    from mmerg.serving.speech import Transcriber
    from mmerg.serving.turns import AppState
    from mmerg.serving.work import TurnRunner

    token = choose_token(settings)
    os.umask(0o077)  # only its user may read what the server writes
    with ExitStack() as opened:
        listening = opened.enter_context(closing(listener(settings.host, settings.port)))
        speech = Transcriber(settings.speech.model) if settings.speech.model else None
        pool, engine = BackbonePlan.from_settings(settings).open(patience=PATIENCE)
        work = opened.enter_context(closing(TurnRunner(pool, settings.limits.waiting)))  # stops running turns
        state = AppState(settings, engine, *offer(settings, engine, overrides, own), work, speech)
        logging.basicConfig(format="%(asctime)s %(message)s")
        logging.getLogger("uvicorn.access").setLevel(logging.INFO)
        page = _announce(state, listening.getsockname()[1], token)
        if settings.browser:
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()  # it may block
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # either signal ends the server cleanly
        server = Server(state, token)
        gc.freeze()  # else the garbage collector takes seconds at the end
        server.run([listening])
    return 0


def check_packages() -> None:
    """Raises ConfigError if the packages of a server are not installed."""
    if missing := [name for name in ("fastapi", "python_multipart", "segno", "uvicorn") if not find_spec(name)]:
        what = f"the server needs packages that are not installed: {', '.join(missing)}"
        raise ConfigError(what, hint='pip install "mmerg[serve]"')


def _refuse_idle(overrides: Sequence[str]) -> None:
    """Raises ConfigError for a setting of the command line that has no effect when serving."""
    for setting in overrides:
        key = setting.partition("=")[0].lstrip("+").partition(".")[0]
        if key in IDLE or setting in ("frames=shuffled", "frames.show=shuffled"):
            what, hint = f"{setting} has no effect when serving", "remove it: it is for runs"
            raise ConfigError(what, where="command line", hint=hint)


def _announce(state: AppState, port: int, token: str) -> str:
    """Prints what is served and where, with a QR code for phones; returns the address of the page."""
    import segno

    host = state.settings.host
    address = f"http://{page_host(host)}:{port}"
    lines = [
        f"{state.engine.description}: {', '.join(state.offered)}",
        *(f"{name} is not served: {why.what}" for name, why in state.missing.items()),
        *filter(None, [state.settings.backbone.note]),
        f"OpenAI's API: {address}/v1; Ollama's API: {address}{'; key: the token below' if token else ''}",
        f"page: {(page := f'{address}/?token={token}' if token else f'{address}/')}",
    ]
    for text in lines:
        console().print(escape(text), soft_wrap=True)
    if host in EVERYWHERE and console().is_terminal:
        segno.make(page, micro=False).terminal(compact=True)
    return page


def page_host(host: str) -> str:
    """The host in the address of a page served at `host`: for all interfaces this machine's address in its network,
    which phones can open, or its name without a network."""
    if host not in EVERYWHERE:
        return f"[{host}]" if ":" in host else host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 1))  # of no machine; sends nothing, and finds the route
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def listener(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        opened = socket.create_server(address[:2], family=family)
    except OSError as error:
        what = f"the server cannot listen there: {error.strerror or error}"
        raise ConfigError(what, where=f"host={host} port={port}", hint="port=0 picks a free port") from error
    return socket.socket(family, kind, protocol, opened.detach())  # asyncio sets TCP_NODELAY only with a protocol


def choose_token(settings: ServeSettings) -> str:
    """The token that every request needs; "" if only this machine can send requests. Raises ConfigError."""
    from mmerg.serving.guard import is_loopback

    given = os.environ.get(TOKEN, "")
    if given and not re.fullmatch(r"[A-Za-z0-9_-]{16,}", given):
        what = "the token is too short, or has characters that not every client can send"
        raise ConfigError(what, where=f"the environment variable {TOKEN}", hint="16 or more of A-Z a-z 0-9 _ -")
    alone = is_loopback(settings.host) and not settings.names and not settings.origins
    return given or ("" if alone else secrets.token_urlsafe(32))
