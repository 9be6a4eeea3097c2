"""What tests of `mmerg cluster run` share: the command in a process of its own, and what its runs hold.

`python -m tests.jobs.cluster run …` is the command, looking at its jobs often.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import sleep

from mmerg.cluster import main
from mmerg.console.terminal import start
from mmerg.jobs.launch import JOBS, NOTED
from mmerg.runs.manifest import MANIFEST
from mmerg.runs.shards import SHARDS
from tests.engine.parts import ROOT
from tests.processes import begun, forked
from tests.run_folders import held
from tests.scripted_ollama import ScriptedOllama, scripted_ollama
from tests.test_run import corpus_in

DEMO = ("dataset=demo", "backend=dry", "memory=none", "limit=null", "protocol.targets=all", "frames.last_turns=1")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
COMMAND = (sys.executable, "-m", "tests.jobs.cluster", "run")
LOOK_EVERY = 0.1  # seconds


def run_cluster(folder: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    """`mmerg cluster run`, once it has ended."""
    return forked([*COMMAND, *settings], cwd=folder, env=ENVIRONMENT)


def folder_of(runs: Path) -> Path:
    [run] = runs.glob("*-merg-*")
    return run


def jobs_of(runs: Path) -> Path:
    """Where logs of jobs lie."""
    return folder_of(runs) / SHARDS / JOBS


def merged(run: Path) -> dict[str, object]:
    """What the merged folder holds, less its shards; hosts stand in manifests."""
    shutil.rmtree(run / SHARDS)
    return without_manifest(run)


def without_manifest(run: Path) -> dict[str, object]:
    return {name: content for name, content in held(run).items() if name != MANIFEST}


def process_of(job: int) -> int:
    """The process of a job's work, the child of the one that submitit starts."""
    return int(Path(f"/proc/{job}/task/{job}/children").read_text(encoding="ascii").split()[0])


class Watched:
    """`mmerg cluster run`, begun on the scripted server's corpus of four dialogues."""

    def __init__(self, folder: Path, server: ScriptedOllama, *more: str) -> None:
        corpus = folder / "corpus"
        if not corpus.exists():
            corpus_in(folder)
        self.runs = folder / "runs"
        ask = ("dataset=folder", f"dataset.root={corpus}", "backbone=qwen2.5vl-7b", f"backend.hosts=[{server.url}]")
        given = (*ask, "memory=none", f"runs={self.runs}", "cache=off", *more)
        self._out = Path(tempfile.mkdtemp(dir=folder))
        self.process = begun([*COMMAND, *given], self._out, env=ENVIRONMENT)

    def output(self) -> str:
        """What it has printed so far."""
        files = (self._out / stream for stream in "12")
        return "".join(file.read_text(encoding="utf-8") for file in files if file.exists())

    def wait_for_jobs(self) -> None:
        """Wait until it watches them."""
        while "at work" not in self.output():
            assert self.process.is_alive(), self.output()
            sleep(0.01)

    def exit_code(self) -> int | None:
        """How it ended, once it has."""
        self.process.join()
        return self.process.exitcode

    def signalled(self, how: signal.Signals) -> int | None:
        """How it ended after a signal."""
        assert self.process.pid
        os.kill(self.process.pid, how)
        return self.exit_code()

    def jobs(self) -> list[int]:
        """The processes that submitit started, in the order of the shards."""
        noted = json.loads((jobs_of(self.runs) / NOTED).read_bytes())
        return [int(job) for job in noted["jobs"].values()]


@dataclass(frozen=True)
class Held:
    """A server that holds the first call of each of so many jobs. begun: what they and the test wait at. go_on: what
    lets calls be answered."""

    server: ScriptedOllama
    begun: threading.Barrier
    go_on: threading.Event


@contextmanager
def holding_calls(jobs: int) -> Iterator[Held]:
    begun, go_on = threading.Barrier(jobs + 1, timeout=120), threading.Event()

    def hold(_: int) -> None:
        if not go_on.is_set():
            begun.wait()
            go_on.wait(300)

    with scripted_ollama(hold) as server:
        try:
            yield Held(server, begun, go_on)
        finally:
            go_on.set()


if __name__ == "__main__":
    start(lambda: main(look_every=LOOK_EVERY))
