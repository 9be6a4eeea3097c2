"""What tests of `mmerg cluster run` share: the command in processes of its own, and what its runs hold."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from mmerg.jobs.launch import JOBS, NOTED
from mmerg.runs.manifest import MANIFEST
from mmerg.runs.shards import SHARDS
from tests.engine.parts import ROOT
from tests.processes import begun, forked
from tests.run_folders import held
from tests.scripted_ollama import ScriptedOllama, scripted_ollama
from tests.test_run import Runner, corpus_in

DEMO = ("dataset=demo", "backend=dry", "memory=none", "limit=null", "protocol.targets=all", "frames.last_turns=1")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def command(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"mmerg.{module}", *arguments]


def ran(folder: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return forked(command(module, *arguments), cwd=folder, env=ENVIRONMENT)


def folder_of(runs: Path) -> Path:
    [found] = runs.glob("*-merg-*")
    return found


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
    """`mmerg cluster run` on the scripted server's corpus, four dialogues in two shards."""

    def __init__(self, folder: Path, server: ScriptedOllama, *more: str) -> None:
        corpus = folder / "corpus"
        if not corpus.exists():
            corpus_in(folder)
        self.runs = folder / "runs"
        ask = ("dataset=folder", f"dataset.root={corpus}", "backbone=qwen2.5vl-7b", f"backend.hosts=[{server.url}]")
        given = (*ask, "memory=none", f"runs={self.runs}", "shards=2", "cache=off", *more)
        self.out = Path(tempfile.mkdtemp(dir=folder))
        self.process = begun(command("cluster", "run", *given), self.out, env=ENVIRONMENT)

    def said(self) -> str:
        """What it said, once it has ended."""
        self.process.join()
        return "".join((self.out / stream).read_text(encoding="utf-8") for stream in "12")

    def signalled(self, how: signal.Signals) -> None:
        assert self.process.pid
        os.kill(self.process.pid, how)

    def jobs(self) -> list[int]:
        noted = json.loads((folder_of(self.runs) / SHARDS / JOBS / NOTED).read_bytes())
        return [int(job) for job in noted["jobs"].values()]


def plain(folder: Path) -> tuple[dict[str, object], int]:
    with scripted_ollama() as server:
        run = Runner(folder / "corpus", folder / "plain", server.url)
        assert run("memory=none", "cache=off").returncode == 0
        return without_manifest(run.folder()), server.calls
