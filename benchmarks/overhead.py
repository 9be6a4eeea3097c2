"""What mmerg costs a call beside the model and HTTP, with and without the reply cache.

A scripted server in a process of its own answers at once. All ask it the same, five calls a sample, text only, one
sample at a time, and write their logs. Figures are of the processor and of the clock, in milliseconds a call:

    off, miss, hit  `mmerg run` of MERG without a reply cache, with an empty one, and with one that has every reply
    raw             the bodies of `off` by `http.client`, a connection a call, answers thrown away: HTTP's own share

What is done once falls out: a call is (T(n) - T(1)) / (5 (n - 1)). "beside HTTP" is less `raw` of the same round.
Last, what a command takes to begin: `mmerg run --help` against bare imports of what it needs.

    python benchmarks/overhead.py --samples 40 --rounds 5
"""

import contextlib
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.parts import CALLS, Taken, alternating, corpus, options, process, publish, ratio, taken
from mmerg.backends.dry import TEXT, least
from mmerg.experiment.launch import launch
from tests.configs import parse_settings
from tests.scripted_ollama import scripted_ollama

BEGIN = {"help": ("-m", "mmerg", "run", "--help"), "imports": ("-c", "import hydra, omegaconf, pydantic")}


def answer(body: Mapping[str, Any]) -> str:
    """The least that the schema allows, in which an audit passes."""
    schema = body.get("format") or body.get("response_format", {}).get("json_schema", {}).get("schema")
    return json.dumps(least(schema, 0)) if schema else TEXT


def serve(line: Connection) -> None:
    """The server, until its process is ended. It keeps connections, as Ollama does, and sends at once."""
    BaseHTTPRequestHandler.protocol_version = "HTTP/1.1"
    BaseHTTPRequestHandler.disable_nagle_algorithm = True
    with scripted_ollama(answer=answer) as server:
        line.send(server.url)
        line.recv()


@contextlib.contextmanager
def served() -> Iterator[str]:
    """The address of the server in a process of its own."""
    here, there = get_context("spawn").Pipe()
    child = get_context("spawn").Process(target=serve, args=(there,))
    child.start()
    try:
        yield here.recv()
    finally:
        child.terminate()
        child.join()


@dataclass(frozen=True)
class Programs:
    """Each gives the work of so many samples, ready to be done. bodies: what mmerg sends, five a sample."""

    folder: Path
    url: str
    root: Path
    bodies: Sequence[Mapping[str, Any]] = ()

    def mmerg(self, count: int, *more: str) -> Callable[[], None]:
        settings = parse_settings(
            *("dataset=folder", f"dataset.root={self.root}", f"limit={count}", "memory=none", "frames=none"),
            *("backend=ollama", "backbone=qwen2.5vl-7b", f"backend.hosts=[{self.url}]"),
            *(f"runs={tempfile.mkdtemp(dir=self.folder)}", *more),
        )

        def work() -> None:
            with contextlib.redirect_stdout(io.StringIO()) as told:
                [ended] = launch(settings)
            if ended.failed or ended.calls != CALLS * count:
                raise SystemExit(f"not {CALLS} calls a sample:\n{told.getvalue()}")

        return work

    def raw(self, count: int) -> Callable[[], None]:
        address = self.url.removeprefix("http://")
        sent = [json.dumps(body).encode() for body in self.bodies[: CALLS * count]]

        def work() -> None:
            for body in sent:
                connection = HTTPConnection(address)
                connection.request("POST", "/api/chat", body, {"Content-Type": "application/json"})
                connection.getresponse().read()
                connection.close()

        return work


def a_call(program: Callable[[int], Callable[[], None]], count: int) -> Taken:
    """Milliseconds a call."""
    first, all_of_them = taken(program(1)), taken(program(count))
    calls = CALLS * (count - 1)
    return Taken(*(1000 * (most - least) / calls for most, least in zip(all_of_them, first, strict=True)))


def main() -> None:
    """Time all, print."""
    given = options(__doc__, samples=40, rounds=5)
    bodies: list[dict[str, Any]] = []

    def keep(body: dict[str, Any]) -> str:
        bodies.append(body)
        return answer(body)

    with tempfile.TemporaryDirectory() as name, served() as url:
        folder, root = Path(name), corpus(Path(name), given.samples)
        full = f"cache_dir={folder}/full"
        with scripted_ollama(answer=keep) as server:
            Programs(folder, server.url, root).mmerg(given.samples, full)()
        programs = Programs(folder, url, root, bodies)
        ways: dict[str, Callable[[int], Callable[[], None]]] = {
            "off": lambda count: programs.mmerg(count, "cache=off"),
            "miss": lambda count: programs.mmerg(count, f"cache_dir={tempfile.mkdtemp(dir=folder)}"),
            "hit": lambda count: programs.mmerg(count, full),
            "raw": programs.raw,
        }
        for way in ways.values():
            way(1)()  # imports
        times = alternating({name: partial(a_call, way, given.samples) for name, way in ways.items()}, given.rounds)
        begins = alternating({name: partial(process, *command) for name, command in BEGIN.items()}, given.rounds + 1)
    figures: dict[str, Sequence[float]] = {}
    for kind in ("processor", "wall"):
        ms = {name: [getattr(one, kind) for one in found] for name, found in times.items()}
        less = {name: [0.0] * given.rounds if name == "hit" else ms["raw"] for name in ms}
        own = {name: [a - b for a, b in zip(ms[name], less[name], strict=True)] for name in ms if name != "raw"}
        figures |= {f"{name}, {kind} ms a call beside HTTP": found for name, found in own.items()}
        if kind == "processor":
            figures |= {f"{name} to off": ratio(found, own["off"]) for name, found in own.items() if name != "off"}
    walls = {name: [one.wall for one in found[1:]] for name, found in begins.items()}  # the first writes bytecode
    figures["mmerg run --help to bare imports"] = ratio(walls["help"], walls["imports"])
    publish(given, figures)


if __name__ == "__main__":
    main()
