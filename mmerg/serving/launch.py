"""The launch of the server, from settings to an exit code; `mmerg/serve.py` is the command."""

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
from mmerg.serving.systems import build_served_systems
from mmerg.settings.commands import ServeSettings

if TYPE_CHECKING:
    from mmerg.serving.turns import AppState

TOKEN = "MMERG_TOKEN"
RUN_SETTINGS = ("protocol", "limit", "ids", "name", "tags")  # no effect when serving
ALL_INTERFACES = ("0.0.0.0", "::")
PATIENCE = 5.0  # seconds that a turn waits for hosts to come back; short, as a user is waiting


def serve(settings: ServeSettings, overrides: Sequence[str], folders: Sequence[Path]) -> int:
    """Serves until a signal comes, and returns the exit code. overrides: those of the command line. folders: the user's
    folders of configs. Raises MmergError if the server cannot start."""
    _refuse_run_settings(overrides)
    check_packages()
    from mmerg.serving.app import Server
    from mmerg.serving.speech import Transcriber
    from mmerg.serving.turn_runner import TurnRunner
    from mmerg.serving.turns import AppState

    token = choose_token(settings)
    os.umask(0o077)  # only the current user may read what the server writes
    with ExitStack() as stack:
        listener = stack.enter_context(closing(open_listener(settings.host, settings.port)))
        speech = Transcriber(settings.speech.model) if settings.speech.model else None
        pool, engine = BackbonePlan.from_settings(settings).open(patience=PATIENCE)
        runner = stack.enter_context(closing(TurnRunner(pool, settings.limits.waiting)))
        systems, unavailable = build_served_systems(settings, engine, overrides, folders)
        state = AppState(settings, engine, systems, unavailable, runner, speech)
        logging.basicConfig(format="%(asctime)s %(message)s")
        logging.getLogger("uvicorn.access").setLevel(logging.INFO)
        page = _announce(state, listener.getsockname()[1], token)
        if settings.browser:
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()  # it may block
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # either signal ends the server cleanly
        server = Server(state, token)
        gc.freeze()  # otherwise the garbage collector takes seconds at the end
        server.run([listener])
    return 0


def check_packages() -> None:
    """Raises ConfigError if the packages of a server are not installed."""
    missing = [name for name in ("fastapi", "python_multipart", "segno", "uvicorn") if not find_spec(name)]
    if missing:
        what = f"the server needs packages that are not installed: {', '.join(missing)}"
        raise ConfigError(what, hint='pip install "mmerg[serve]"')


def _refuse_run_settings(overrides: Sequence[str]) -> None:
    """Raises ConfigError if an override sets something that has no effect when serving."""
    for override in overrides:
        key = override.partition("=")[0].lstrip("+").partition(".")[0]
        if key in RUN_SETTINGS or override in ("frames=shuffled", "frames.show=shuffled"):
            what = f"{override} has no effect when serving"
            raise ConfigError(what, where="command line", hint="remove it: it is for runs")


def _announce(state: AppState, port: int, token: str) -> str:
    """Prints what is served and where, with a QR code for phones. Returns the address of the page."""
    import segno

    host = state.settings.host
    address = f"http://{choose_page_host(host)}:{port}"
    page = f"{address}/?token={token}" if token else f"{address}/"
    key = "; key: the token below" if token else ""
    lines = [
        f"{state.engine.description}: {', '.join(state.systems)}",
        *(f"{name} is not served: {error.what}" for name, error in state.unavailable.items()),
        *filter(None, [state.settings.backbone.note]),
        f"OpenAI's API: {address}/v1; Ollama's API: {address}{key}",
        f"page: {page}",
    ]
    for text in lines:
        console().print(escape(text), soft_wrap=True)
    if host in ALL_INTERFACES and console().is_terminal:
        segno.make(page, micro=False).terminal(compact=True)
    return page


def choose_page_host(host: str) -> str:
    """Returns the host for the address of a page that is served at `host`. For all interfaces it is this machine's
    address in its network, which phones can open. Without a network it is the machine's name."""
    if host not in ALL_INTERFACES:
        return f"[{host}]" if ":" in host else host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 1))  # finds the route to a reserved address; sends nothing
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def open_listener(host: str, port: int) -> socket.socket:
    """Opens a socket that listens at `host` and `port`. Raises ConfigError if the address cannot be used."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        opened = socket.create_server(address[:2], family=family)
    except OSError as error:
        what = f"the server cannot listen at this address: {error.strerror or error}"
        raise ConfigError(what, where=f"host={host} port={port}", hint="port=0 picks a free port") from error
    return socket.socket(family, kind, protocol, opened.detach())  # asyncio sets TCP_NODELAY only with a protocol


def choose_token(settings: ServeSettings) -> str:
    """Returns the token that every request needs; "" if only this machine can send requests. The environment variable
    MMERG_TOKEN sets it. Raises ConfigError if that is not usable as a token."""
    from mmerg.serving.guard import is_loopback

    token = os.environ.get(TOKEN, "")
    if token and not re.fullmatch(r"[A-Za-z0-9_-]{16,}", token):
        what = "the token is too short, or has characters that not every client can send"
        raise ConfigError(what, where=f"the environment variable {TOKEN}", hint="16 or more of A-Z a-z 0-9 _ -")
    local = is_loopback(settings.host) and not settings.names and not settings.origins
    return token or ("" if local else secrets.token_urlsafe(32))
