"""A sweep that is killed and started again asks for no completion twice, and rows name their folders."""

import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import in_process, run_main, start_command
from tests.run_folders import read_contents
from tests.scripted_ollama import merg_answer, scripted_ollama
from tests.test_run import corpus_in
from tests.test_sweep import Sweeper

SIDE_BY_SIDE = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")


class Asked:
    """Counts the calls to a server by content. At call number `at` it kills the process group of a sweep."""

    def __init__(self) -> None:
        self.at = 0
        self.group: int | None = None
        self.questions: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any]) -> str:
        self.questions[json.dumps(body, sort_keys=True)] += 1
        if self.questions.total() == self.at and self.group:
            os.killpg(self.group, signal.SIGKILL)
        return merg_answer(body)

    @property
    def again(self) -> int:
        """The number of repeated calls."""
        return self.questions.total() - len(self.questions)


def stop(sweeper: Sweeper, asked: Asked, *settings: str) -> tuple[int | None, str]:
    """The exit code and stderr of a sweep that is killed."""
    out = sweeper.runs.with_name("out")
    out.mkdir()
    process = start_command(sweeper.arguments("-m", *settings), out, cwd=sweeper.corpus, own_group=True)
    asked.group = process.pid
    process.join()
    asked.group = None
    return process.exitcode, (out / "2").read_text(encoding="utf-8")


def folders(sweeper: Sweeper) -> dict[str, Path]:
    return {manifest.parent.name: manifest.parent for manifest in sweeper.runs.glob("folder-merg-*/manifest.json")}


ROWS = ("system.without=[],[mpa]", "memory=none", "limit=1")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sweeper, Asked, int]]:
    """A sweep over ROWS that nothing stops, the counter of its server, and the number of its calls."""
    folder = tmp_path_factory.mktemp("unbroken")
    asked = Asked()
    with scripted_ollama(answer=asked) as server:
        whole = Sweeper(corpus_in(folder), folder / "runs", server.url)
        assert whole("-m", *ROWS).returncode == 0
        yield whole, asked, asked.questions.total()


@pytest.mark.slow
def test_a_killed_sweep_resumes(tmp_path: Path, unbroken: tuple[Sweeper, Asked, int]) -> None:
    whole, asked, calls = unbroken
    asked.questions.clear()
    asked.at = calls * 2 // 3
    sweeper = Sweeper(whole.corpus, tmp_path / "broken", whole.url)
    code, printed = stop(sweeper, asked, *ROWS, *SIDE_BY_SIDE)
    assert code == -signal.SIGKILL, printed
    done = sweeper("-m", *ROWS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert asked.again <= 2  # the calls that were under way in each process
    assert len(folders(sweeper)) == 2
    ours, theirs = ({name: read_contents(path) for name, path in folders(one).items()} for one in (sweeper, whole))
    assert ours == theirs


def test_a_row_names_its_folder_and_a_single_run_of_the_row_continues_it(tmp_path: Path) -> None:
    given = ["dataset=demo", "backend=dry", "frames=none", "limit=1", f"runs={tmp_path}", "tags=[first]"]
    row = ("memory=none", "ablation=without_psp")
    assert run_main("mmerg.run", "-m", *given, "memory=none", "ablation=full,without_psp") == 0
    names = sorted(folder.name.rpartition("-")[0] for folder in tmp_path.glob("demo-*"))
    assert names == [f"demo-merg-dry-first-ablation={name}" for name in ("full", "without_psp")]
    again = in_process([sys.executable, "-m", "mmerg.run", *given, *row])
    assert f"run: {tmp_path}/{names[1]}-" in again.stdout
    other = in_process([sys.executable, "-m", "mmerg.run", *given[:-1], *row])  # without the tag: a run of its own
    assert re.search(rf"run: {tmp_path}/demo-merg-dry-\w{{8}}\n", other.stdout)
