"""What a sample costs, in time and memory, as a run grows: `python -m mmerg.run` whole, on 1, 100, 1,000, … samples.

Each run is a process of its own on a synthetic folder dataset of so many dialogues of four turns, without frames,
memory or cache, with results, trace and manifest as always. A backend in the same process (`Instant`) answers at once.
Two variants: `one`, a single agent, so a sample is one call; `five`, all agents, whose audit passes, five calls.

The cost per sample of n is (T(n) − T(1)) / (n − 1), T being processor seconds (user and system): others' work on the
machine counts less there than in wall time, which is given too. Start-up falls out; reading the corpus does not. Peak
memory is the process's (ru_maxrss). Runs of up to 100 samples are repeated, `--rounds` times, and their median counts.

Prints cost and memory by n with the ratio to that of 100 samples, then one line of JSON.

    python benchmarks/scale.py --largest 10000 --variants one five
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

from mmerg.backends.protocol import Engine, Finish, Reply, Request, TokenLogprob

ROOT = Path(__file__).parents[1]
SIZES = (1, 100, 1_000, 10_000, 100_000)
BASE = 100
VARIANTS: dict[str, tuple[str, ...]] = {"one": ("system.without=[mpa,caef,psp,gra]",), "five": ()}
ENGINE = Engine(backend="instant", version="1", model="instant", digest="0" * 64, capabilities=("completion",))
FIELDS: Mapping[str, Any] = {
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


@dataclass(frozen=True)
class Taken:
    """Seconds of the processor and of the clock, and the peak memory in MB (10^6 bytes), of one process."""

    processor: float
    wall: float
    megabytes: float


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


def run(folder: Path, count: int, variant: str, number: int) -> Taken:
    """One whole run. Ends the program where not every sample came out well."""
    runs = folder / f"runs-{variant}-{count}-{number}"
    command = [
        *(sys.executable, "-m", "mmerg.run", "dataset=folder", f"dataset.root={corpus(folder, count)}"),
        *("backend.adapter._target_=benchmarks.scale.Instant", "memory=none", "frames=none", "cache=off"),
        *(f"runs={runs}", *VARIANTS[variant]),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (folder / "out").open("wb") as out:
        start = perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        wall = perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit((folder / "out").read_text(encoding="utf-8")[-2000:])
    return Taken(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * _maxrss_unit() / 1e6)


def _maxrss_unit() -> int:
    """Bytes: Linux counts KiB, macOS bytes."""
    return 1 if sys.platform == "darwin" else 1024


def measured(folder: Path, variant: str, sizes: tuple[int, ...], rounds: int) -> dict[int, Taken]:
    """By number of samples, in turn where a size is repeated."""
    taken: dict[int, list[Taken]] = {}
    for number in range(rounds):
        for count in sizes:
            if count <= BASE or number == 0:
                taken.setdefault(count, []).append(run(folder, count, variant, number))
    names = ("processor", "wall", "megabytes")
    return {
        count: Taken(*(statistics.median(getattr(one, name) for one in found) for name in names))
        for count, found in taken.items()
    }


def costs(taken: Mapping[int, Taken]) -> dict[int, dict[str, float]]:
    """Milliseconds a sample and peak memory, by number of samples."""
    first = taken[1]
    return {
        count: {
            "ms": 1000 * (one.processor - first.processor) / (count - 1),
            "wall_ms": 1000 * (one.wall - first.wall) / (count - 1),
            "megabytes": one.megabytes,
        }
        for count, one in taken.items()
        if count > 1
    }


def main() -> None:
    """Run all sizes, print."""
    parser = argparse.ArgumentParser(description="Cost per sample and peak memory as a run grows.")
    parser.add_argument("--largest", type=int, choices=SIZES[1:], default=1_000)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--rounds", type=int, default=3, help="of the runs of 1 and of 100 samples")
    options = parser.parse_args()
    from benchmarks.parts import publish  # not above: the runs import this module for `Instant`

    sizes = tuple(size for size in SIZES if size <= options.largest)
    with tempfile.TemporaryDirectory() as folder:
        found = {variant: costs(measured(Path(folder), variant, sizes, options.rounds)) for variant in options.variants}
    lines = ["processor milliseconds a sample, (T(n) - T(1)) / (n - 1); wall milliseconds; peak memory of the process"]
    for variant, by_size in found.items():
        base = by_size[BASE]["ms"]
        lines.append(f"  {variant} ({'1 call' if variant == 'one' else '5 calls'} a sample)")
        lines += [
            f"    {count:>7} samples {row['ms']:7.2f} ms  {row['ms'] / base:5.2f} times that of {BASE}"
            f"  wall {row['wall_ms']:7.2f} ms  {row['megabytes']:6.0f} MB"
            for count, row in by_size.items()
        ]
    publish(
        lines,
        {
            "benchmark": "scale",
            "rounds": options.rounds,
            "by_samples": {
                variant: {
                    str(count): {name: float(f"{value:.4g}") for name, value in row.items()}
                    | {"ratio": round(row["ms"] / by_size[BASE]["ms"], 3)}
                    for count, row in by_size.items()
                }
                for variant, by_size in found.items()
            },
        },
    )


if __name__ == "__main__":
    main()
