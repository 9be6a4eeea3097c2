"""The server as clients meet it, over a socket, for as long as a block runs; what answers is scripted, or the dry one.

with running(Scripted(script)) as server:
    httpx.get(f"{server.url}/page/setup")
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mmerg.backends.dry import Dry
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Backend
from mmerg.serving.app import server_of
from mmerg.serving.chats import MOST, Chats
from mmerg.serving.launch import listener, served_by
from mmerg.serving.served import Served
from mmerg.settings.command import read_line
from mmerg.settings.model import ServeSettings
from mmerg.settings.parse import parse
from tests.composed import composed


@dataclass(frozen=True)
class Running:
    """url: without a slash at its end."""

    url: str
    served: Served


@contextmanager
def running(
    backend: Backend | None = None,
    *overrides: str,
    slots: int = 1,
    patience: float = 1.0,
    token: str = "",
    chats: int = MOST,
) -> Iterator[Running]:
    """backend: None for the dry one. overrides: as the command line has them. chats: how many the page keeps."""
    words = ["backend=dry", *overrides]
    settings = parse(composed(*words, name="serve"), ServeSettings)
    pool = Pool([Host(backend or Dry(), slots, "scripted")], patience=patience, wait=0.05)
    with served_by(pool, pool.describe(), settings, read_line(words)) as made:
        served = replace(made, chats=Chats(chats))
        server, heard = server_of(served, token), listener("127.0.0.1", 0)
        thread = threading.Thread(target=server.run, args=([heard],))
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server has not started"
                time.sleep(0.01)
            port = heard.getsockname()[1]
            yield Running(f"http://127.0.0.1:{port}", served)
        finally:
            server.should_exit = True
            thread.join()
            heard.close()
