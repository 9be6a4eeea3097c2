"""The shards of a run by Hydra's launchers for SLURM and Ray: against the plain run, file by file."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mmerg import merge
from mmerg.runs.shards import SHARDS
from tests.engine.parts import ROOT
from tests.processes import forked
from tests.run_folders import held
from tests.scripted_ollama import ScriptedOllama, scripted_ollama
from tests.test_run import Runner, corpus_in

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
SWEEP = ("shard=1/3,2/3,3/3", "memory=none", "backbone.concurrency=1", "-m")


def sweep(run: Runner, *more: str) -> subprocess.CompletedProcess[str]:
    return forked(run.arguments(*more, *SWEEP), cwd=run.runs.parent, env=ENVIRONMENT)


def merged(run: Runner) -> dict[str, object]:
    """What the merged folder holds, less its shards."""
    assert merge.main([str(run.folder())]) == 0
    shutil.rmtree(run.folder() / SHARDS)
    return held(run.folder())


def plain(run: Runner, folder: Path) -> dict[str, object]:
    """What a run in one process holds."""
    other = Runner(run.corpus, folder / "plain", run.url)
    assert other("memory=none", "backbone.concurrency=1").returncode == 0
    return held(other.folder())


def test_submitit_runs_the_shards(tmp_path: Path) -> None:
    pytest.importorskip("submitit", reason="pip install 'mmerg[slurm]'")
    with scripted_ollama() as server:
        run = Runner(corpus_in(tmp_path), tmp_path / "runs", server.url)
        done = sweep(run, "hydra/launcher=submitit_local")
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"when all shards are finished: mmerg merge {run.folder()}" in done.stdout
        assert sorted(file.name for file in tmp_path.iterdir()) == ["corpus", "runs"]
        assert merged(run) == plain(run, tmp_path)


class Nodes:
    """Two nodes with a processor each."""

    def __init__(self) -> None:
        command, pipe = [sys.executable, "-m", "tests.ray_nodes"], subprocess.PIPE
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        self.address = self._answer("address")

    def kill_one(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()
        self._answer("killed")

    def _answer(self, word: str) -> str:
        assert self.process.stdout
        return next(line for line in self.process.stdout if line.startswith(word)).removeprefix(word).strip()


@contextmanager
def nodes() -> Iterator[Nodes]:
    made = Nodes()
    try:
        yield made
    finally:
        made.process.communicate(timeout=60)


class Held:
    """Holds the first call of each of two jobs. begun: they and the test wait there. go_on: lets calls be answered."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Barrier(3, timeout=120), threading.Event()

    def __call__(self, _: int) -> None:
        if not self.go_on.is_set():
            self.begun.wait()
            self.go_on.wait(300)


def calls_of(server: ScriptedOllama) -> int:
    calls, server.calls = server.calls, 0
    return calls


def test_a_node_of_ray_that_dies_loses_nothing(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="pip install 'mmerg[ray]'")
    hold = Held()
    with nodes() as two, scripted_ollama(hold) as server:
        run = Runner(corpus_in(tmp_path), tmp_path / "runs", server.url)
        on_ray = ("hydra/launcher=ray", f"hydra.launcher.ray.init.address={two.address}")
        no_retries = "+hydra.launcher.ray.remote.max_retries=0"  # or Ray itself runs the lost job on the other node

        def kill() -> None:
            hold.begun.wait()
            two.kill_one()
            hold.go_on.set()

        killer = threading.Thread(target=kill)
        killer.start()
        done = sweep(run, *on_ray, no_retries)
        killer.join()
        assert done.returncode == 2, done.stdout + done.stderr
        assert "Ray lost 1 of 3 jobs" in done.stderr
        done = sweep(run, *on_ray)
        assert done.returncode == 0, done.stdout + done.stderr
        calls = calls_of(server)
        assert merged(run) == plain(run, tmp_path)
        again = calls - calls_of(server)
        assert again in (0, 1)  # the call that the dead node waited for, where its reply did not arrive before the end
