"""How long scoring takes: reading a run, each figure with its interval, and the start of the commands.

Runs of 1,000 and 10,000 samples are made up (`--samples`), each of `--calls` calls with prompts of `--prompt`
characters and a reply with log-probabilities, one of the calls being the response's. Reading is held against parsing
every line of the same trace, which is what is saved by looking at a line's first fields. Start-up is held against
`import numpy`, each a process of its own, in turn within each round. No figure that needs a model of its own.

Prints seconds and ratios, medians over rounds with their range, then one line of JSON.

    python benchmarks/scoring.py --samples 1000 10000 --rounds 3
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.parts import Spread, alternating, publish, ratio, seconds, spread
from mmerg.runs.events import EVENT
from mmerg.runs.folder import RESULTS, TRACE
from mmerg.runs.result import Result
from mmerg.runs.trace import read_trace
from mmerg.scoring.answers import ScoredRun, read_run
from mmerg.scoring.scorer import score_run, scored
from mmerg.scoring.standard import DEFAULTS, standard_metrics
from tests.ollama_server import ROOT
from tests.scoring.run_builder import HISTORY, build_run, called, events_of, result, tokens_of

LABELS = ("neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust")
STARTS = {
    "import numpy": ("-c", "import numpy"),
    "score --help": ("-m", "mmerg.score", "--help"),
    "show --help": ("-m", "mmerg.show", "--help"),
}


def made_up(folder: Path, samples: int, calls: int, prompt: int) -> Path:
    """A run folder with `samples` results and their trace; every tenth sample failed."""
    draw = random.Random(0)
    words = [f"word{number}" for number in range(5000)]
    weights = [1 / (number + 1) for number in range(5000)]
    text = " ".join(draw.choices(words, k=prompt // 8))
    build_run(folder, [], samples=samples)
    with (
        (folder / RESULTS).open("w", encoding="utf-8") as results,
        (folder / TRACE).open("w", encoding="utf-8") as trace,
    ):
        for number in range(samples):
            reply = " ".join(draw.choices(words, weights, k=draw.randint(4, 24)))
            gold, said = draw.choice(LABELS), draw.choice(LABELS)
            one = result(f"d{number}/1", None if number % 10 == 0 else reply, said, gold=gold, seconds=draw.random())
            results.write(one.line())
            for line in _lines(one, reply, calls, text):
                trace.write(line)
    return folder


def _lines(one: Result, reply: str, calls: int, prompt: str) -> list[str]:
    tokens = tokens_of(reply, [-1.0] * min(len(reply), 30))
    events = [
        *events_of(one, (), HISTORY)[:1],
        *(called(one.id, reply, tokens, stage="psp", prompt=prompt) for _ in range(calls - 1)),
        called(one.id, reply, tokens, prompt=prompt),
        *events_of(one, (), HISTORY)[-1:],
    ]
    plain = (EVENT.dump_python(event, mode="json") for event in events)
    return [json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in plain]


def measured(folder: Path, rounds: int) -> tuple[dict[str, Spread], Spread]:
    """Seconds of reading, of each figure, and of all of them; and reading over parsing every line."""
    run = read_run(folder)
    figures: dict[str, Callable[[], float]] = {
        metric.name: lambda metric=metric: seconds(lambda: scored(metric, run.answers, DEFAULTS))  # type: ignore[misc]
        for metric in standard_metrics(run)
    }
    found = alternating(
        {"read": lambda: seconds(lambda: read_run(folder)), **figures, "all": lambda: _all(run)}, rounds
    )
    reading = alternating(
        {
            "read": lambda: seconds(lambda: read_run(folder)),
            "parse": lambda: seconds(lambda: sum(1 for _ in read_trace(folder / TRACE))),
        },
        1,
    )
    return {name: spread([row[name] for row in found]) for name in found[0]}, ratio(reading, "parse", "read")


def _all(run: ScoredRun) -> float:
    return seconds(lambda: score_run(run))


def started(rounds: int) -> list[dict[str, float]]:
    """Seconds that each start takes, round by round."""

    def timed(arguments: tuple[str, ...]) -> Callable[[], float]:
        command = [sys.executable, *arguments]
        return lambda: seconds(lambda: subprocess.run(command, cwd=ROOT, capture_output=True, check=True))

    variants = {name: timed(arguments) for name, arguments in STARTS.items()}
    alternating(variants, 1)  # bytecode
    return alternating(variants, rounds)


def main() -> None:
    """Make runs up, time, print."""
    parser = argparse.ArgumentParser(description="Time scoring.")
    parser.add_argument("--samples", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--calls", type=int, default=10)
    parser.add_argument("--prompt", type=int, default=6000, help="characters")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines: list[str] = []
    times: dict[str, Mapping[str, list[float]]] = {}
    for samples in options.samples:
        with tempfile.TemporaryDirectory() as folder:
            run = made_up(Path(folder) / "run", samples, options.calls, options.prompt)
            size = (run / TRACE).stat().st_size
            found, saved = measured(run, options.rounds)
        lines += [
            f"{samples} samples, {options.calls} calls each, a trace of {size / 2**20:.0f} MiB: seconds",
            *(f"  {name:<18}{took}" for name, took in found.items()),
            f"  parsing every line of the trace against reading the run: {saved}",
        ]
        times[str(samples)] = {name: took.rounded() for name, took in found.items()}
    starts = started(max(5, options.rounds))
    to_numpy = {name: ratio(starts, name, "import numpy") for name in STARTS if name != "import numpy"}
    lines += [f"start-up against import numpy: {name} {found}" for name, found in to_numpy.items()]
    publish(
        lines,
        {
            "benchmark": "scoring",
            "rounds": options.rounds,
            "seconds": times,
            "start_to_numpy": {name: found.rounded() for name, found in to_numpy.items()},
        },
    )


if __name__ == "__main__":
    main()
