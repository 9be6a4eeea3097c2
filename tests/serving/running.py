"""The real server over a socket, with a scripted or the dry backend.

with running(Scripted(script)) as server:
    server.client.get("/page/setup")
"""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache

import httpx

from mmerg.backends.dry import Dry
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Backend, Engine
from mmerg.errors import MmergError
from mmerg.serving.app import Server
from mmerg.serving.launch import open_listener
from mmerg.serving.speech import Transcriber
from mmerg.serving.systems import ServedSystem, build_served_system
from mmerg.serving.turn_runner import TurnRunner
from mmerg.serving.turns import AppState
from mmerg.settings.commands import ServeSettings
from mmerg.settings.parse import parse
from tests.configs import compose_config

SYSTEMS = ("merg", "one_pass", "self_refine", "few_shot", "hef")  # hef lacks its model; building all takes seconds
SERVER_SETTINGS = ("limits.", "host=", "names=", "origins=", "persona=", "fast=", "speech.", "runs=", "backbone.note=")


@dataclass(frozen=True)
class Running:
    """A running server."""

    url: str  # without a slash at its end
    client: httpx.Client  # keeps its connections
    state: AppState


@contextmanager
def running(
    backend: Backend | None = None,
    *overrides: str,
    slots: int = 1,
    patience: float = 1.0,
    token: str = "",
) -> Iterator[Running]:
    """Runs a server. backend: None for the dry one. overrides: as on the command line."""
    pool = Pool([Host(backend or Dry(), slots, "scripted")], patience=patience, wait=0.05)
    settings = settings_of(*overrides)
    with (
        closing(TurnRunner(pool, settings.limits.waiting)) as turn_runner,
        closing(open_listener("127.0.0.1", 0)) as listener,  # clients may connect before the thread accepts them
        client_of(f"http://127.0.0.1:{listener.getsockname()[1]}") as client,
    ):
        engine = pool.describe()
        speech = Transcriber(settings.speech.model) if settings.speech.model else None
        of_systems = tuple(override for override in overrides if not override.startswith(SERVER_SETTINGS))
        systems, unavailable = build_systems(of_systems, engine.model_dump_json())
        state = AppState(settings, engine, systems, unavailable, turn_runner, speech)
        server = Server(state, token)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield Running(str(client.base_url).rstrip("/"), client, state)
        finally:
            server.should_exit = True
            thread.join()


def client_of(url: str) -> httpx.Client:
    """Makes a client without certificates, which take longer to load than ten requests."""
    return httpx.Client(base_url=url, timeout=60, verify=False)


@cache
def build_systems(overrides: tuple[str, ...], engine: str) -> tuple[dict[str, ServedSystem], dict[str, MmergError]]:
    """Builds some systems for these settings and this engine (as JSON). They hold no state, so tests share them."""
    systems, unavailable = {}, {}
    for name in SYSTEMS:
        settings = settings_of(*overrides, f"system={name}")
        try:
            systems[f"mmerg-{name}"] = build_served_system(settings, Engine.model_validate_json(engine))
        except MmergError as error:
            unavailable[f"mmerg-{name}"] = error
    return systems, unavailable


@cache
def settings_of(*overrides: str) -> ServeSettings:
    return parse(compose_config("backend=dry", *overrides, name="serve"), ServeSettings)
