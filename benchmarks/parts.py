"""What the programs of this folder share: variants in turn, processes weighed, a corpus, and how figures are told.

A figure is the median over rounds, with its smallest and largest. A ratio is of one round: all variants of a round run
right after each other, so a busy machine slows them alike, and who goes first changes from round to round.
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
CALLS = 5  # of a sample of MERG whose audit passes
T = TypeVar("T")


class Taken(NamedTuple):
    """Seconds of the processor and of the clock; of a process its peak memory, too, in MB (10^6 bytes)."""

    processor: float
    wall: float
    megabytes: float = 0.0


def taken(work: Callable[[], object]) -> Taken:
    """What `work` takes in this process, in all its threads."""
    processor, wall = process_time(), perf_counter()
    work()
    return Taken(process_time() - processor, perf_counter() - wall)


def process(*arguments: str) -> Taken:
    """What Python takes with these arguments. Ends the program where the exit code is not 0."""
    with tempfile.TemporaryFile() as out:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        begun = perf_counter()
        started = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(started.pid, 0)
        wall = perf_counter() - begun
        started.returncode = os.waitstatus_to_exitcode(status)
        if started.returncode:
            out.seek(0)
            raise SystemExit(f"{' '.join(arguments)} failed:\n{out.read().decode()[-2000:]}")
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes
    return Taken(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * unit / 1e6)


def one_call(folder: Path, samples: int) -> tuple[str, ...]:
    """Settings for so many samples of one call each, with nothing beside it; who answers and `runs` are to be added."""
    lone = ("system.without=[mpa,caef,psp,gra]", "memory=none", "frames=none", "cache=off")
    return "dataset=folder", f"dataset.root={corpus(folder, samples)}", *lone


def corpus(folder: Path, count: int) -> Path:
    """A dataset of so many dialogues of four turns, each with words of its own, made once."""
    root = folder / f"corpus{count}"
    if not root.exists():
        root.mkdir()
        with (root / "dialogues.jsonl").open("w", encoding="utf-8") as file:
            for number in range(count):
                texts = (f"I lost my keys again, number {number}.", "Oh no. Where?", "On the train.", "I am sorry.")
                turns = [{"speaker": "AB"[turn % 2], "text": text} for turn, text in enumerate(texts)]
                file.write(json.dumps({"id": f"d{number}", "turns": turns}) + "\n")
    return root


def alternating(variants: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """What each variant gives, round by round; each round begins with the next variant."""
    names = list(variants)
    found: dict[str, list[T]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            found[name].append(variants[name]())
    return found


def ratio(over: Sequence[float], under: Sequence[float]) -> list[float]:
    """One variant's figures divided by the other's of the same rounds."""
    return [one / other for one, other in zip(over, under, strict=True)]


def options(doc: str | None, **defaults: float) -> argparse.Namespace:
    """The options of a program, with their defaults; its help is its documentation."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"default {default}")
    return parser.parse_args()


def publish(given: argparse.Namespace, figures: Mapping[str, float | Sequence[float]]) -> None:
    """Print each figure, then all as one line of JSON with the options, the number of cores and the machine's load: a
    number, or [median, smallest, largest] of several rounds."""
    result: dict[str, object] = {"benchmark": Path(sys.argv[0]).stem}
    for name, figure in figures.items():
        values = figure if isinstance(figure, Sequence) else [figure]
        median, low, high = (float(f"{value:.4g}") for value in (statistics.median(values), min(values), max(values)))
        result[name] = [median, low, high] if len(values) > 1 else median
        sys.stdout.write(f"{name}: {median:g}" + (f" ({low:g} to {high:g})\n" if len(values) > 1 else "\n"))
    result |= {**vars(given), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}
    sys.stdout.write(f"{json.dumps(result)}\n")
