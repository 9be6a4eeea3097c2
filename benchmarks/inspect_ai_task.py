"""What a call costs beside HTTP: mmerg against inspect_ai, the same five-agent task over the same server.

A scripted server in a process of its own answers at once, in both ways of speaking (`chat_server.py`). Both ask the
same messages, five calls a sample, text only, one sample at a time, replies from no cache, everything logged:

    mmerg        samples through pool, retry, engine and trace into a run folder
    inspect_ai   a Task whose solver asks the same messages in the same order (schemas and samplers too), no scorer, its
                 own log written; its `ollama` provider
    raw          the same bodies by `http.client`, a connection a call, answers read and thrown away: HTTP's own share,
                 once for each of the two

Times are of the processor, all threads and not the server's, as others' work counts less there; wall times are printed,
too. Start-up falls out: the cost a call is (T(n) − T(1)) / (5 · (n − 1)). What is beside HTTP is a program's
cost a call less that of its raw requests in the same round. Without inspect_ai (`pip install inspect-ai openai`) the
program says so and ends with exit code 0. No other host is asked, and inspect_ai's display is off.

Prints milliseconds a call, medians over rounds with their range, then one line of JSON.

    python benchmarks/inspect_ai_task.py --samples 20 --rounds 5
"""

from __future__ import annotations

import http.client
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.chat_server import MODEL, served
from benchmarks.parts import (
    CALLS,
    alternating,
    apart,
    experiment,
    options,
    pool,
    publish,
    recorded,
    requests_of,
    run_folder,
    samples,
    spread,
    stand,
)
from benchmarks.scale import answer
from mmerg.backends.ollama import Ollama
from mmerg.backends.protocol import Request
from mmerg.corpora.dialogue import Sample
from mmerg.engine.look import Looker
from mmerg.engine.sample import Experiment
from mmerg.frames.store import FrameStore
from mmerg.settings.model import FramesSettings
from tests.engine.parts import stage_of

PACKAGES = ("inspect_ai", "openai")


@dataclass(frozen=True)
class Taken:
    """Seconds of the processor and of the clock."""

    processor: float
    wall: float


def taken(work: Callable[[], object]) -> Taken:
    """What `work` takes."""
    processor, wall = process_time(), perf_counter()
    work()
    return Taken(process_time() - processor, perf_counter() - wall)


@dataclass
class Bench:
    """Both programs over the same samples; each way gives processor milliseconds a call, start-up left out, and leaves
    the wall's in `walls`."""

    folder: Path
    url: str
    run: Experiment
    todo: Sequence[Sample]
    asked: Sequence[Request]  # five a sample, in order
    bodies: Mapping[str, Sequence[bytes]] = field(default_factory=dict)  # what both send, by path
    numbers: count[int] = field(default_factory=count)
    walls: dict[str, list[float]] = field(default_factory=dict)

    def mmerg(self) -> float:
        return self._a_call("mmerg", self._mmerg)

    def inspect_ai(self) -> float:
        return self._a_call("inspect_ai", self._inspect_ai)

    def raw_mmerg(self) -> float:
        return self._raw("raw_mmerg", "/api/chat")

    def raw_inspect_ai(self) -> float:
        return self._raw("raw_inspect_ai", "/v1/chat/completions")

    def recorded(self) -> dict[str, list[bytes]]:
        """The bodies that both send, by path, for the raw requests."""
        bodies: dict[str, list[bytes]] = {}
        with served(bodies) as url:
            asking = replace(self, url=url)
            asking._mmerg(len(self.todo))
            asking._inspect_ai(len(self.todo))
        wrong = {path: len(found) for path, found in bodies.items() if len(found) != len(self.asked)}
        if wrong or len(bodies) != 2:
            raise SystemExit(f"the two did not ask the same: {wrong or list(bodies)}")
        return bodies

    def _a_call(self, name: str, work: Callable[[int], None]) -> float:
        calls = CALLS * (len(self.todo) - 1)
        return self._noted(name, calls, taken(lambda: work(1)), taken(lambda: work(len(self.todo))))

    def _noted(self, name: str, calls: int, least: Taken, most: Taken) -> float:
        self.walls.setdefault(name, []).append(1000 * (most.wall - least.wall) / calls)
        return 1000 * (most.processor - least.processor) / calls

    def _mmerg(self, number: int) -> None:
        backend = Ollama(model=MODEL, load={"num_ctx": 8192}, host=self.url)
        path = self.folder / f"run{next(self.numbers)}"
        with closing(pool([backend], self.folder / "unused")) as hosts, run_folder(path) as record:
            recorded(self.run, self.todo[:number], hosts, record)

    def _inspect_ai(self, number: int) -> None:
        package, models = import_module("inspect_ai"), import_module("inspect_ai.model")

        def five() -> Any:
            async def solve(state: Any, generate: Any) -> Any:
                first = CALLS * int(state.sample_id)
                for request in self.asked[first : first + CALLS]:
                    state.messages = _messages(models, request)
                    state = await generate(state, **_settings(models, request))
                    if request.schema:
                        json.loads(state.output.completion)  # the least that a task does with it
                return state

            return solve

        solver = import_module("inspect_ai.solver").solver(five)
        rows = [import_module("inspect_ai.dataset").Sample(input="-", id=str(place)) for place in range(number)]
        [log] = package.eval(
            package.Task(dataset=rows, solver=solver()),
            model=models.get_model(f"ollama/{MODEL}", base_url=f"{self.url}/v1"),
            display="none",
            log_dir=str(self.folder / "logs"),
            max_samples=1,
            max_connections=1,
        )
        if log.status != "success":
            raise SystemExit(f"inspect_ai: {log.error}")

    def _raw(self, name: str, path: str) -> float:
        address = self.url.removeprefix("http://")

        def ask() -> None:
            for body in self.bodies[path]:
                connection = http.client.HTTPConnection(address)
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                connection.getresponse().read()
                connection.close()

        return self._noted(name, len(self.bodies[path]), Taken(0.0, 0.0), taken(ask))


def _messages(models: Any, request: Request) -> list[Any]:
    """The same messages as inspect_ai has them."""
    kinds = {
        "system": models.ChatMessageSystem,
        "user": models.ChatMessageUser,
        "assistant": models.ChatMessageAssistant,
    }
    return [kinds[message.role](content=message.text) for message in request.messages]


def _settings(models: Any, request: Request) -> dict[str, Any]:
    """The same samplers and schema as far as inspect_ai has them."""
    sampling = request.sampling
    found: dict[str, Any] = {"max_tokens": sampling.num_predict, "temperature": sampling.temperature}
    found |= {"top_p": sampling.top_p, "seed": sampling.seed}
    if sampling.stop:
        found["stop_seqs"] = list(sampling.stop)
    if request.logprobs:
        found["logprobs"] = True
    if request.schema:
        schema = import_module("inspect_ai.util").JSONSchema.model_validate(json.loads(request.schema))
        found["response_schema"] = models.ResponseSchema(name=stage_of(request), json_schema=schema)
    return found


def main() -> None:
    """Time both, print."""
    if sys.argv[1:2] == ["--serve"]:
        with served() as address:
            return stand(address)
    given = options(__doc__, samples=20, rounds=5)
    if missing := [package for package in PACKAGES if find_spec(package) is None]:
        sys.stdout.write(f"not measured: {', '.join(missing)} is not installed (pip install inspect-ai openai)\n")
        return None
    with tempfile.TemporaryDirectory() as name, apart(__file__, "--serve") as url:
        folder = Path(name)
        run = experiment(folder, seen_by="none")
        blind = FramesSettings().model_copy(update={"last_turns": 0})  # opens no clip
        run = replace(run, looker=Looker(blind, FrameStore(folder / "frames")))
        todo = samples(given.samples)
        bench = Bench(folder, url, run, todo, requests_of(run, todo, lambda request: answer(request.schema)))
        bench = replace(bench, bodies=bench.recorded())
        ways = (bench.mmerg, bench.raw_mmerg, bench.inspect_ai, bench.raw_inspect_ai)
        rounds = alternating({one.__name__: one for one in ways}, given.rounds)
    times = {name: spread([row[name] for row in rounds]) for name in rounds[0]}
    beside = {name: spread([row[name] - row[f"raw_{name}"] for row in rounds]) for name in ("mmerg", "inspect_ai")}
    walls = {name: spread(took) for name, took in bench.walls.items()}
    gain = spread([(r["inspect_ai"] - r["raw_inspect_ai"]) / (r["mmerg"] - r["raw_mmerg"]) for r in rounds])
    publish(
        [
            f"{given.samples} samples of {CALLS} calls, inspect_ai {version('inspect_ai')}: processor ms a call",
            *(f"  {name:<15}{took!s:<24} wall {walls[name]}" for name, took in times.items()),
            *(f"  {name} beside HTTP {took}" for name, took in beside.items()),
            f"  inspect_ai to mmerg, both beside HTTP: {gain}",
        ],
        {
            **{"benchmark": "inspect_ai_task", "inspect_ai": version("inspect_ai"), "ms_a_call": times},
            **{"wall_ms_a_call": walls, "ms_beside_http": beside, "ratio_beside_http": gain},
            **vars(given),
        },
    )
    return None


if __name__ == "__main__":
    main()
