"""What a sample costs, in time and memory, as a run grows, and what the same command costs once the run is finished.

Each run is a process of its own, `mmerg run` on a synthetic folder dataset of so many dialogues of four turns, without
frames, memory or cache, with results, events and manifest as always. A backend in the same process (`Instant`) answers
at once. Two variants: `one`, a single agent, so a sample is one call; `five`, all agents, whose audit passes.

The cost per sample of n is (T(n) − T(1)) / (n − 1), T being processor seconds (user and system): others' work on the
machine counts less there than in wall time. Start-up falls out; reading the corpus does not. Peak memory is the
process's (ru_maxrss). `again` is the wall time of the same command over the finished run, less that of a run of one,
and its peak memory.
Runs of up to 100 samples are repeated `--rounds` times, and their median counts.

    python benchmarks/scale.py --largest 10000
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from mmerg.backends.protocol import Engine, Finish, Reply, Request, TokenLogprob

ROOT = Path(__file__).parents[1]
SIZES, BASE = (1, 100, 1_000, 10_000, 100_000), 100
VARIANTS: dict[str, tuple[str, ...]] = {"one": ("system.without=[mpa,caef,psp,gra]",), "five": ()}
ENGINE = Engine(backend="instant", version="1", model="instant", digest="0" * 64, capabilities=("completion",))
FIELDS: dict[str, object] = {
    **{"textual": "the words are calm", "visual": "nothing to see", "consistency": "agree", "reasoning": "as told"},
    **{"emotion": "sadness", "goal": "comfort", "stance": "warm", "tactic": "question", "tone": "gentle", "note": ""},
    "textual_cues": [{"turn": 1, "cue": "says it twice"}],
    "visual_cues": [],
}
FINDING = {"reason": "looked at", "passed": True, "correction": ""}


class Instant:
    """Answers at once with what fits the schema, and keeps nothing. Made from any adapter's settings."""

    def __init__(self, host: str, **_: object) -> None:
        self._host = host

    def describe(self) -> Engine:
        return ENGINE

    def complete(self, request: Request) -> Reply:
        text = answer(request.schema)
        logprobs = tuple(TokenLogprob(token=word, logprob=-1.0) for word in text.split()) if request.logprobs else ()
        return Reply(
            text=text, finish=Finish.STOP, logprobs=logprobs, prompt_tokens=100, response_tokens=20, host=self._host
        )

    def close(self) -> None:
        pass


@lru_cache
def answer(schema: str) -> str:
    """A valid reply: a plain line where there is no schema; an audit's checks all pass."""
    if not schema:
        return "That must have been hard. What happened next?"
    return json.dumps({name: FIELDS.get(name, FINDING) for name in json.loads(schema)["properties"]})


class Taken(NamedTuple):
    """Seconds of the processor and of the clock, and the peak memory in MB (10^6 bytes), of one process; and the clock
    and the memory of the same command again."""

    processor: float
    wall: float
    megabytes: float
    again: float = 0.0
    again_megabytes: float = 0.0


def corpus(folder: Path, count: int) -> Path:
    """A dataset of so many dialogues, each with words of its own, made once."""
    root = folder / f"corpus{count}"
    if not root.exists():
        root.mkdir()
        with (root / "dialogues.jsonl").open("w", encoding="utf-8") as file:
            for number in range(count):
                texts = (f"I lost my keys again, number {number}.", "Oh no. Where?", "On the train.", "I am sorry.")
                turns = [{"speaker": "AB"[turn % 2], "text": text} for turn, text in enumerate(texts)]
                file.write(json.dumps({"id": f"d{number}", "turns": turns}) + "\n")
    return root


def process(folder: Path, command: list[str]) -> Taken:
    """One run of the command. Ends the program where not every sample came out well."""
    with (folder / "out").open("wb") as out:
        start = perf_counter()
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        started = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(started.pid, 0)
        wall = perf_counter() - start
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise SystemExit((folder / "out").read_text(encoding="utf-8")[-2000:])
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes
    return Taken(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * unit / 1e6)


def measured(folder: Path, variant: str, count: int, rounds: int) -> Taken:
    """Medians over the rounds of a run and of the same command after it."""
    found = []
    for number in range(rounds if count <= BASE else 1):
        command = [
            *(sys.executable, "-m", "mmerg.run", "dataset=folder", f"dataset.root={corpus(folder, count)}"),
            *("backend.adapter._target_=benchmarks.scale.Instant", "memory=none", "frames=none", "cache=off"),
            *(f"runs={folder}/runs-{variant}-{count}-{number}", *VARIANTS[variant]),
        ]
        first, again = process(folder, command), process(folder, command)
        found.append(first._replace(again=again.wall, again_megabytes=again.megabytes))
    return Taken(*map(statistics.median, zip(*found, strict=True)))


def main() -> None:
    """Run all sizes, print."""
    from benchmarks.parts import options, publish  # not above: the runs import this module for `Instant`

    given = options(__doc__, largest=1_000, rounds=3)
    lines = ["a sample: processor ms, times that of 100 samples, wall ms; MB at the peak; the same command again"]
    result: dict[str, dict[str, dict[str, float]]] = {variant: {} for variant in VARIANTS}
    with tempfile.TemporaryDirectory() as name:
        for variant, found in result.items():
            first = measured(Path(name), variant, 1, given.rounds)
            for count in [size for size in SIZES if 1 < size <= given.largest]:
                taken = measured(Path(name), variant, count, given.rounds)
                ms, wall = (1000 * (taken[i] - first[i]) / (count - 1) for i in (0, 1))
                again = 1000 * (taken.again - first.again)
                found[str(count)] = {"ms": ms, "wall_ms": wall, "mb": taken.megabytes, "again_ms": again}
                found[str(count)]["again_mb"] = taken.again_megabytes
                times = ms / found[str(BASE)]["ms"]
                row = f"{ms:7.2f}{times:6.2f}{wall:8.2f}{taken.megabytes:6.0f} MB"
                row += f"{again:8.0f} ms{taken.again_megabytes:6.0f} MB"
                lines.append(f"  {variant:<5}{count:>7} samples{row}")
    publish(lines, {"benchmark": "scale", "by_samples": result} | vars(given))


if __name__ == "__main__":
    main()
