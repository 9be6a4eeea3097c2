"""Functions that use a completion cache in a separate process, forked from one that has imported everything.

process, numbers = start(write_completions, path, 0, 50)
"""

from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

from mmerg.backends.cache import Cache
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.backends.scripted import Scripted


def hello(text: str = "hello") -> Request:
    return Request((Message("user", text),), Sampling())


def write_completions(sending: Connection, path: Path, first: int, number: int) -> None:
    """Makes `number` calls, and sends the number of each once its completion is stored."""
    with closing(Cache(Scripted(lambda request: request.messages[0].text * 200), path)) as cache:
        for place in range(first, first + number):
            cache.complete(hello(f"number {place} "))
            sending.send(place)


def ask_slowly(sending: Connection, folder: Path, seconds: float) -> None:
    """Makes a call that takes `seconds` and adds a line to the file `calls`; sends the completion."""

    def answer(_: Request) -> str:
        with (folder / "calls").open("a", encoding="utf-8") as file:
            file.write("called\n")
        return "the answer"

    with closing(Cache(Scripted(answer, latency=seconds), folder / "completions.sqlite")) as cache:
        sending.send(cache.complete(hello()).text)
