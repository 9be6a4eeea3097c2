"""Connections on which no request comes."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from mmerg.serving.heads import Watched
from mmerg.serving.launch import listener


class Hasty(Watched):
    patience = 0.05


async def slow(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers after several times the patience there is for heads."""
    await asyncio.sleep(0.3)
    await PlainTextResponse("fine")(scope, receive, send)


@contextmanager
def hasty() -> Iterator[tuple[str, int]]:
    config = uvicorn.Config(slow, http=Hasty, ws="none", lifespan="off", log_level="warning")
    server, heard = uvicorn.Server(config), listener("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, args=([heard],))
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield heard.getsockname()
    finally:
        server.should_exit = True
        thread.join()
        heard.close()


def until_closed(connection: socket.socket) -> bytes:
    connection.settimeout(60)
    return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_connection_on_which_no_head_comes_is_closed() -> None:
    with hasty() as address:
        for begun in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n"):
            with socket.create_connection(address) as connection:
                connection.sendall(begun)
                assert until_closed(connection) == b""


def test_one_whose_request_is_at_work_is_not() -> None:
    with hasty() as address, socket.create_connection(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        with suppress(ConnectionError):  # closed meanwhile
            connection.sendall(b"GET / HT")  # and of this the rest never comes
            assert b"HTTP" not in until_closed(connection)
