"""Shared code of the benchmarks: runs variants in turn, measures processes, writes a corpus and prints results.

A result is the median over rounds, with the minimum and maximum. A ratio compares values of the same round: all
variants of a round run right after each other, so that a busy machine slows them alike. The variant that starts a round
changes from round to round.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple, TypeVar

ROOT = Path(__file__).parents[1]
CALLS = 5  # per sample of MERG, if its audit passes
T = TypeVar("T")


class Usage(NamedTuple):
    """Processor and wall time in seconds, and the peak memory of a process in MB (10^6 bytes)."""

    processor: float
    wall: float
    megabytes: float = 0.0


def measure(work: Callable[[], object]) -> Usage:
    """Measures the times of `work` in this process, over all its threads."""
    processor, wall = process_time(), perf_counter()
    work()
    return Usage(process_time() - processor, perf_counter() - wall)


def measure_process(*arguments: str) -> Usage:
    """Measures Python with these arguments. Raises SystemExit if its exit code is not 0."""
    with tempfile.TemporaryFile() as out:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        start = perf_counter()
        process = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=out, stderr=subprocess.STDOUT)
        _, status, resources = os.wait4(process.pid, 0)
        wall = perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            out.seek(0)
            raise SystemExit(f"{' '.join(arguments)} failed:\n{out.read().decode()[-2000:]}")
    unit = 1 if sys.platform == "darwin" else 1024  # macOS reports bytes
    return Usage(resources.ru_utime + resources.ru_stime, wall, resources.ru_maxrss * unit / 1e6)


def one_call_settings(folder: Path, samples: int) -> tuple[str, ...]:
    """Returns settings for samples with one call each and no other work. The caller adds the backend and `runs`."""
    reply_alone = ("system.without=[mpa,caef,psp,gra]", "memory=none", "frames=none", "cache=off")
    return "dataset=folder", f"dataset.root={write_corpus(folder, samples)}", *reply_alone


def write_corpus(folder: Path, count: int) -> Path:
    """Writes a dataset of `count` different dialogues of four turns, unless it exists, and returns its folder."""
    root = folder / f"corpus{count}"
    if not root.exists():
        root.mkdir()
        with (root / "dialogues.jsonl").open("w", encoding="utf-8") as file:
            for number in range(count):
                texts = (f"I lost my keys again, number {number}.", "Oh no. Where?", "On the train.", "I am sorry.")
                turns = [{"speaker": "AB"[turn % 2], "text": text} for turn, text in enumerate(texts)]
                file.write(json.dumps({"id": f"d{number}", "turns": turns}) + "\n")
    return root


def run_in_turn(variants: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Runs all variants in each round and returns their values by name. Each round starts with the next variant."""
    names = list(variants)
    values: dict[str, list[T]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            values[name].append(variants[name]())
    return values


def divide(values: Sequence[float], base: Sequence[float]) -> list[float]:
    """Divides the values of one variant by those of another, round by round."""
    return [value / other for value, other in zip(values, base, strict=True)]


def parse_options(doc: str | None, **defaults: float) -> argparse.Namespace:
    """Parses the command line of a program: options with defaults, and `doc` as help."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"default {default}")
    return parser.parse_args()


def print_results(options: argparse.Namespace, results: Mapping[str, float | Sequence[float]]) -> None:
    """Prints each result, then a line of JSON with all results, the options, the number of cores and the machine's
    load. A result in JSON is a number, or [median, minimum, maximum] of several rounds."""
    record: dict[str, object] = {"benchmark": Path(sys.argv[0]).stem}
    for name, result in results.items():
        values = result if isinstance(result, Sequence) else [result]
        median, low, high = (float(f"{value:.4g}") for value in (statistics.median(values), min(values), max(values)))
        spread = f" ({low:g} to {high:g})" if len(values) > 1 else ""
        record[name] = [median, low, high] if len(values) > 1 else median
        sys.stdout.write(f"{name}: {median:g}{spread}\n")
    record |= {**vars(options), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}
    sys.stdout.write(f"{json.dumps(record)}\n")
