"""Measures the overhead of mmerg per call, without the model and HTTP, and with and without the completion cache.

A scripted server in a separate process responds at once. All variants send the same requests: five calls per sample,
text only, one sample at a time. Results are processor time and wall time in milliseconds per call:

    off, miss, hit  `mmerg run` of MERG without a completion cache, with an empty one, and with one that has every
    completion raw             the requests of `off` by `http.client`, with a connection per call: the cost of HTTP

A call takes (T(n) - T(1)) / (5 (n - 1)), so start-up does not count. "beside HTTP" is the time minus that of `raw` in
the same round. The last result is the start of a command: `mmerg run --help`, compared with bare imports of what it
needs.

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

from benchmarks.parts import (
    CALLS,
    Usage,
    divide,
    measure,
    measure_process,
    parse_options,
    print_results,
    run_in_turn,
    write_corpus,
)
from mmerg.backends.dry import TEXT, build_smallest
from mmerg.experiment.launch import launch
from tests.configs import parse_settings
from tests.scripted_ollama import scripted_ollama

START = {"help": ("-m", "mmerg", "run", "--help"), "imports": ("-c", "import hydra, omegaconf, pydantic")}


def complete_minimally(body: Mapping[str, Any]) -> str:
    """Returns the shortest completion that the schema allows; audits pass."""
    schema = body.get("format") or body.get("response_format", {}).get("json_schema", {}).get("schema")
    return json.dumps(build_smallest(schema, 0)) if schema else TEXT


def serve(pipe: Connection) -> None:
    """Serves until the process is ended. Keeps connections open, as Ollama does, and sends without delay."""
    BaseHTTPRequestHandler.protocol_version = "HTTP/1.1"
    BaseHTTPRequestHandler.disable_nagle_algorithm = True
    with scripted_ollama(answer=complete_minimally) as server:
        pipe.send(server.url)
        pipe.recv()


@contextlib.contextmanager
def run_server() -> Iterator[str]:
    """Runs the server in a separate process and yields its address."""
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
    """The work of a variant for a number of samples."""

    folder: Path
    url: str
    root: Path
    bodies: Sequence[Mapping[str, Any]] = ()  # the requests that mmerg sends, five per sample

    def mmerg(self, count: int, *more: str) -> Callable[[], None]:
        settings = parse_settings(
            *("dataset=folder", f"dataset.root={self.root}", f"limit={count}", "memory=none", "frames=none"),
            *("backend=ollama", "backbone=qwen2.5vl-7b", f"backend.hosts=[{self.url}]"),
            *(f"runs={tempfile.mkdtemp(dir=self.folder)}", *more),
        )

        def work() -> None:
            with contextlib.redirect_stdout(io.StringIO()) as output:
                ended = launch(settings)
            if ended.failed or ended.calls != CALLS * count:
                raise SystemExit(f"not {CALLS} calls per sample:\n{output.getvalue()}")

        return work

    def raw(self, count: int) -> Callable[[], None]:
        address = self.url.removeprefix("http://")
        requests = [json.dumps(body).encode() for body in self.bodies[: CALLS * count]]

        def work() -> None:
            for body in requests:
                connection = HTTPConnection(address)
                connection.request("POST", "/api/chat", body, {"Content-Type": "application/json"})
                connection.getresponse().read()
                connection.close()

        return work


def measure_call(program: Callable[[int], Callable[[], None]], count: int) -> Usage:
    first, total = measure(program(1)), measure(program(count))
    calls = CALLS * (count - 1)
    return Usage(*(1000 * (longer - shorter) / calls for longer, shorter in zip(total, first, strict=True)))


def main() -> None:
    options = parse_options(__doc__, samples=40, rounds=5)
    bodies: list[dict[str, Any]] = []

    def keep(body: dict[str, Any]) -> str:
        bodies.append(body)
        return complete_minimally(body)

    with tempfile.TemporaryDirectory() as name, run_server() as url:
        folder, root = Path(name), write_corpus(Path(name), options.samples)
        full = f"cache_dir={folder}/full"
        with scripted_ollama(answer=keep) as server:
            Programs(folder, server.url, root).mmerg(options.samples, full)()
        programs = Programs(folder, url, root, bodies)
        variants: dict[str, Callable[[int], Callable[[], None]]] = {
            "off": lambda count: programs.mmerg(count, "cache=off"),
            "miss": lambda count: programs.mmerg(count, f"cache_dir={tempfile.mkdtemp(dir=folder)}"),
            "hit": lambda count: programs.mmerg(count, full),
            "raw": programs.raw,
        }
        for variant in variants.values():
            variant(1)()  # imports modules
        calls = {name: partial(measure_call, variant, options.samples) for name, variant in variants.items()}
        usages = run_in_turn(calls, options.rounds)
        starts = {name: partial(measure_process, *command) for name, command in START.items()}
        start_usages = run_in_turn(starts, options.rounds + 1)
    results: dict[str, Sequence[float]] = {}
    for kind in ("processor", "wall"):
        ms = {name: [getattr(usage, kind) for usage in rounds] for name, rounds in usages.items()}
        http = {name: [0.0] * options.rounds if name == "hit" else ms["raw"] for name in ms}
        overhead = {name: [a - b for a, b in zip(ms[name], http[name], strict=True)] for name in ms if name != "raw"}
        results |= {f"{name}, {kind} ms per call beside HTTP": values for name, values in overhead.items()}
        if kind == "processor":
            results |= {f"{name} to off": divide(overhead[name], overhead["off"]) for name in ("miss", "hit")}
    # The first start writes bytecode.
    walls = {name: [usage.wall for usage in rounds[1:]] for name, rounds in start_usages.items()}
    results["mmerg run --help to bare imports"] = divide(walls["help"], walls["imports"])
    print_results(options, results)


if __name__ == "__main__":
    main()
