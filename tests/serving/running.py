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
from mmerg.serving.launch import listener
from mmerg.serving.offered import ServedSystem, build_served
from mmerg.serving.speech import Transcriber
from mmerg.serving.turns import AppState
from mmerg.serving.work import TurnRunner
from mmerg.settings.commands import ServeSettings
from mmerg.settings.parse import parse
from tests.configs import compose_config

SYSTEMS = ("merg", "one_pass", "self_refine", "few_shot", "hef")  # hef lacks its model: building all takes seconds
NOT_OF_SYSTEMS = ("limits.", "host=", "names=", "origins=", "persona=", "fast=", "speech.", "runs=", "backbone.note=")


@dataclass(frozen=True)
class Running:
    """url: without a slash at its end. client: keeps its connections."""

    url: str
    client: httpx.Client
    state: AppState


@contextmanager
def running(
    backend: Backend | None = None,
    *overrides: str,
    slots: int = 1,
    patience: float = 1.0,
    token: str = "",
) -> Iterator[Running]:
    """A running server. backend: None for the dry one. overrides: as on the command line."""
    pool = Pool([Host(backend or Dry(), slots, "scripted")], patience=patience, wait=0.05)
    settings = settings_of(*overrides)
    words = tuple(word for word in overrides if not word.startswith(NOT_OF_SYSTEMS))
    with (
        closing(TurnRunner(pool, settings.limits.waiting)) as work,
        closing(listener("127.0.0.1", 0)) as heard,  # clients may connect before the thread accepts them
        client_of(f"http://127.0.0.1:{heard.getsockname()[1]}") as client,
    ):
        engine = pool.describe()
        speech = Transcriber(settings.speech.model) if settings.speech.model else None
        state = AppState(settings, engine, *offers(words, engine.model_dump_json()), work, speech)
        server = Server(state, token)
        thread = threading.Thread(target=server.run, args=([heard],))
        thread.start()
        try:
            yield Running(str(client.base_url).rstrip("/"), client, state)
        finally:
            server.should_exit = True
            thread.join()


def client_of(url: str) -> httpx.Client:
    """A client without certificates, which take longer to load than ten requests."""
    return httpx.Client(base_url=url, timeout=60, verify=False)


@cache
def offers(words: tuple[str, ...], engine: str) -> tuple[dict[str, ServedSystem], dict[str, MmergError]]:
    """Some systems for these settings and this engine (as JSON), built once: they hold no state."""
    offered, missing = {}, {}
    for name in SYSTEMS:
        try:
            offered[f"mmerg-{name}"] = build_served(
                settings_of(*words, f"system={name}"), Engine.model_validate_json(engine)
            )
        except MmergError as error:
            missing[f"mmerg-{name}"] = error
    return offered, missing


@cache
def settings_of(*words: str) -> ServeSettings:
    return parse(compose_config("backend=dry", *words, name="serve"), ServeSettings)
