"""The shards of a run with Hydra's launchers for SLURM and Ray: compared with the plain run, file by file."""

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
from tests.run_folders import read_contents
from tests.scripted_ollama import scripted_ollama
from tests.test_run import Runner, corpus_in

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
PLAIN = ("memory=none", "backbone.concurrency=1")
SWEEP = (*PLAIN, "shard=1/2,2/2", "-m")
ONE = (*PLAIN, "shard=1/1", "-m")


def sweep(run: Runner, *words: str) -> subprocess.CompletedProcess[str]:
    return forked(run.arguments(*words), cwd=run.runs.parent, env=ENVIRONMENT)


def equals_a_plain_run(run: Runner, folder: Path) -> bool:
    """Merges the shards, and compares the folder with that of a run in one process."""
    assert merge.main([str(run.folder())]) == 0
    shutil.rmtree(run.folder() / SHARDS)
    plain = Runner(run.corpus, folder / "plain", run.url)
    assert plain(*PLAIN).returncode == 0
    return read_contents(run.folder()) == read_contents(plain.folder())


@pytest.mark.slow
def test_submitit_runs_a_shard(tmp_path: Path) -> None:
    pytest.importorskip("submitit", reason="pip install 'mmerg[slurm]'")
    with scripted_ollama() as server:
        run = Runner(corpus_in(tmp_path), tmp_path / "runs", server.url)
        done = sweep(run, *ONE, "hydra/launcher=submitit_local")
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"when all shards are finished: mmerg merge {run.folder()}" in done.stdout
        assert sorted(file.name for file in tmp_path.iterdir()) == ["corpus", "runs"]
        assert equals_a_plain_run(run, tmp_path)


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
    cluster = Nodes()
    try:
        yield cluster
    finally:
        cluster.process.communicate(timeout=60)


@pytest.mark.slow
def test_no_result_is_lost_if_a_ray_node_dies(tmp_path: Path) -> None:
    """The first call of each of two jobs waits until one node is dead."""
    pytest.importorskip("ray", reason="pip install 'mmerg[ray]'")
    both_wait, node_is_dead = threading.Barrier(3, timeout=120), threading.Event()

    def wait(_: int) -> None:
        if not node_is_dead.is_set():
            both_wait.wait()
            node_is_dead.wait(300)

    with nodes() as two, scripted_ollama(wait) as server:
        run = Runner(corpus_in(tmp_path), tmp_path / "runs", server.url)

        def kill() -> None:
            both_wait.wait()
            two.kill_one()
            node_is_dead.set()

        killer = threading.Thread(target=kill)
        killer.start()
        no_retries = "+hydra.launcher.ray.remote.max_retries=0"  # or Ray itself runs the lost job on the other node
        on_ray = ("hydra/launcher=ray", f"hydra.launcher.ray.init.address={two.address}", no_retries)
        done = sweep(run, *SWEEP, *on_ray)
        killer.join()
        assert done.returncode == 2, done.stdout + done.stderr
        assert "Ray lost 1 of 2 jobs" in done.stderr
        calls_on_ray = server.calls
        assert run(*SWEEP).returncode == 0  # the same shards without Ray: the lost one has no reply yet
        assert calls_on_ray < server.calls
        assert equals_a_plain_run(run, tmp_path)
