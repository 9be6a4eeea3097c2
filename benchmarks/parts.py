"""What the programs of this folder share: variants in turn, medians with their range, a scripted MERG, and a server.

A figure is the median over rounds, with its range. A ratio is of one round: all variants of a round run right after
each other, so a busy machine slows them alike, and who goes first changes from round to round. Times are the machine's.

    rounds = alternating({"one": work_one, "four": work_four}, rounds=5)
    str(ratio(rounds, "one", "four"))   # '3.96 (3.91 to 3.98)'
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

from mmerg.backends.cache import Cache, Mode
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Backend, Request, Sampling
from mmerg.backends.retry import Retry
from mmerg.backends.scripted import ENGINE, Scripted
from mmerg.corpora.dialogue import Sample
from mmerg.corpora.folder import Folder, demo_root
from mmerg.corpora.protocols import select
from mmerg.engine.look import Looker
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import Experiment
from mmerg.frames.store import FrameStore
from mmerg.runs.events import Event
from mmerg.runs.folder import Run
from mmerg.runs.manifest import Corpus, Manifest, ProtocolSection, Session
from mmerg.runs.result import Result
from mmerg.settings.model import FramesSettings, ProtocolSettings
from mmerg.systems.system import FramesSeenBy
from tests.engine.parts import STAGES, as_text, audit, merg, outputs, stage_of
from tests.ollama_server import ROOT, Server, start_server

CALLS = 5  # of a sample whose audit passes
LABELS = ("neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust")
ANSWERS = {
    **{name: as_text(output) for name, output in outputs().items()},
    "gra": as_text(audit(dict.fromkeys(STAGES, True))),
}


@dataclass(frozen=True)
class Spread:
    """The median of some figures, and their smallest and largest."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"

    def rounded(self) -> list[float]:
        """[median, smallest, largest] for the line of JSON."""
        return [float(f"{value:.4g}") for value in (self.median, self.low, self.high)]


def spread(values: Sequence[float]) -> Spread:
    """The spread of `values`, of which there must be one at least."""
    return Spread(statistics.median(values), min(values), max(values))


def ratio(rounds: Sequence[Mapping[str, float]], over: str, under: str) -> Spread:
    """The spread, over rounds, of one variant's figure divided by the other's of the same round."""
    return spread([row[over] / row[under] for row in rounds])


def alternating(variants: Mapping[str, Callable[[], float]], rounds: int) -> list[dict[str, float]]:
    """What each variant gives, round by round; each round begins with the next variant."""
    names = list(variants)
    found = []
    for number in range(rounds):
        first = number % len(names)
        found.append({name: variants[name]() for name in (*names[first:], *names[:first])})
    return found


def seconds(work: Callable[[], object]) -> float:
    """Wall time of `work`."""
    start = perf_counter()
    work()
    return perf_counter() - start


def processor_seconds(work: Callable[[], object]) -> float:
    """Time that the processor spends on `work` in this process, in all its threads: others' work counts less in it."""
    start = process_time()
    work()
    return process_time() - start


def options(doc: str | None, **defaults: float | list[int] | tuple[str, ...]) -> argparse.Namespace:
    """The options of a program by name, with their defaults; a list takes several numbers, of a tuple's words one is
    meant, the first if none is given. The program's help is its documentation."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        option = "--" + name.replace("_", "-")
        if isinstance(default, tuple):
            parser.add_argument(option, choices=default, default=default[0])
            continue
        kind, nargs = (int, "+") if isinstance(default, list) else (type(default), None)
        parser.add_argument(option, type=kind, nargs=nargs, default=default, help=f"default {default}")
    return parser.parse_args()


def publish(lines: Sequence[str], result: Mapping[str, object]) -> None:
    """Print the lines, then `result` with the number of cores and the load of the machine as one line of JSON, in which
    a spread is [median, smallest, largest]."""
    machine = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}
    text = json.dumps({**result, **machine}, default=Spread.rounded)
    sys.stdout.write("".join(f"{line}\n" for line in (*lines, text)))


def answer(request: Request) -> str:
    """A valid reply for the agent that asks; the audit passes, so a sample is five calls."""
    return ANSWERS[stage_of(request)]


def samples(count: int) -> list[Sample]:
    """Samples of the demo corpus, over and over, each with a number in its first turn: no two ask the same."""
    drawn = select(Folder(demo_root(), labels=LABELS).load(), ProtocolSettings()).samples
    return [_numbered(drawn[number % len(drawn)], number) for number in range(count)]


def _numbered(sample: Sample, number: int) -> Sample:
    first, *others = sample.scene.history
    history = (replace(first, text=f"{first.text} ({number})"), *others)
    return replace(sample, scene=replace(sample.scene, id=f"{sample.id}.{number}", history=history))


def experiment(folder: Path, seen_by: FramesSeenBy = "paper", max_iterations: int = 2) -> Experiment:
    """MERG with images as `conf/` sets it up, its frame store in `folder`."""
    system = merg(max_iterations=max_iterations).showing_frames_to(seen_by)
    looker = Looker(FramesSettings(last_turns=3), FrameStore(folder / "frames"))
    return Experiment(Prompts(system), looker, Sampling(), ENGINE, max_images=8)


def run_folder(path: Path) -> Run:
    """A new run folder, as the run command makes it."""
    corpus = Corpus(name="demo", split="all", labels=LABELS)
    protocol = ProtocolSection(description="all", samples=0, dialogues=0)
    return Run(path, Manifest(identity={}, engine=ENGINE, corpus=corpus, protocol=protocol, sessions=(Session(),)))


def requests_of(run: Experiment, todo: Sequence[Sample], reply: Callable[[Request], str]) -> list[Request]:
    """What mmerg asks for these samples, in order, where `reply` answers."""
    backend = Scripted(reply)
    for sample in todo:
        whole(run.sample(sample, backend, ignore, keep_nothing))
    return backend.requests


def whole(result: Result) -> None:
    """Ends the program where a sample did not take its five calls."""
    if result.status != "ok" or result.calls != CALLS:
        raise SystemExit(f"sample {result.id} took {result.calls} calls: {result.failure_text or result.status}")


def pool(backends: Sequence[Backend], cache: Path, mode: Mode = "off", slots: int = 1) -> Pool:
    """Hosts as a run makes them, each with the reply cache and its retries."""
    hosts = [Host(Cache(Retry(one), cache, mode), slots, f"host {number}") for number, one in enumerate(backends)]
    made = Pool(hosts)
    made.describe()
    return made


def recorded(run: Experiment, todo: Sequence[Sample], hosts: Pool, record: Run) -> None:
    """The samples one after another, as the run command does them, into a run folder. Any failure ends it."""
    for sample in todo:
        with hosts.lease() as leased:
            whole(record.record(sample.id, partial(run.sample, sample, leased, keep_frame=record.keep_frame)))


def ignore(event: Event) -> None:
    """Throws an event away."""


def keep_nothing(sha256: str, read: Callable[[], bytes]) -> None:
    """Leaves a keyframe where it is."""


def stand(url: str) -> None:
    """Tell the process that began this one where the server is, and wait until standard input ends."""
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    sys.stdin.read()


@contextmanager
def apart(program: str, *arguments: str) -> Iterator[str]:
    """A server in a process of its own: a program that calls `stand`."""
    command = [sys.executable, program, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


@contextmanager
def server() -> Iterator[Server]:
    """An Ollama server of our own on a free port, with its home in a folder that goes with it.

    Where there is no ollama binary the program ends here, saying so, with exit code 0.
    """
    tool = [sys.executable, str(ROOT / "tools" / "get_ollama.py"), "--check"]
    found = subprocess.run(tool, capture_output=True, text=True, check=False)
    if found.returncode:
        sys.stdout.write(f"not measured: {found.stderr.strip()}\n")
        sys.exit(0)
    with tempfile.TemporaryDirectory() as folder:
        started = start_server(Path(found.stdout.strip().splitlines()[-1]), Path(folder))
        try:
            yield started
        finally:
            started.kill()
