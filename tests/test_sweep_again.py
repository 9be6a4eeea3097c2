"""Sweeps that are broken off by Ctrl-C or killed, and called again: no reply that arrived is asked for twice."""

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

from tests.processes import begun, forked
from tests.run_folders import held
from tests.scripted_ollama import merg_answer, scripted_ollama
from tests.test_run import corpus_in
from tests.test_sweep import Sweeper

SIDE_BY_SIDE = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")


class Asked:
    """Counts each question that a server answers; at one of them, by number, a signal goes to all of a sweep."""

    def __init__(self) -> None:
        self.at, self.how = 0, signal.SIGKILL
        self.group: int | None = None
        self.questions: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any]) -> str:
        self.questions[json.dumps(body, sort_keys=True)] += 1
        if self.questions.total() == self.at and self.group:
            end = os.kill if self.how == signal.SIGTERM else os.killpg  # a supervisor knows the command alone
            end(self.group, self.how)
        return merg_answer(body)

    @property
    def again(self) -> int:
        """Calls for what had been asked before."""
        return self.questions.total() - len(self.questions)


def broken_off(sweeper: Sweeper, asked: Asked, *settings: str) -> tuple[int | None, str]:
    """Exit code and stderr of a sweep that gets its signal, as a terminal sends it to the whole group."""
    out = sweeper.runs.with_name("out")
    out.mkdir()
    process = begun(sweeper.arguments("-m", *settings), out, cwd=sweeper.corpus, own_group=True)
    asked.group = process.pid
    process.join()
    asked.group = None
    return process.exitcode, (out / "2").read_text(encoding="utf-8")


def folders(sweeper: Sweeper) -> dict[str, Path]:
    return {manifest.parent.name: manifest.parent for manifest in sweeper.runs.glob("folder-merg-*/manifest.json")}


def hold_the_same(sweeper: Sweeper, other: Sweeper) -> bool:
    """Whether both made the same runs."""
    ours, theirs = ({name: held(path) for name, path in folders(one).items()} for one in (sweeper, other))
    return ours == theirs


ROWS = ("system.without=[],[mpa]", "memory=none", "limit=1")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sweeper, Asked, int]]:
    """A sweep over ROWS that nothing breaks off, what counts its server's questions, and how many it took: others are
    held against it."""
    folder = tmp_path_factory.mktemp("unbroken")
    asked = Asked()
    with scripted_ollama(answer=asked) as server:
        whole = Sweeper(corpus_in(folder), folder / "runs", server.url)
        assert whole("-m", *ROWS).returncode == 0
        yield whole, asked, asked.questions.total()


@pytest.mark.parametrize(
    ("how", "more"),
    [(signal.SIGINT, ()), *((how, SIDE_BY_SIDE) for how in (signal.SIGTERM, signal.SIGKILL))],
    ids=["ctrl-c", "term-side-by-side", "kill-side-by-side"],
)
def test_a_sweep_that_is_broken_off_goes_on_where_it_was(
    tmp_path: Path, unbroken: tuple[Sweeper, Asked, int], how: signal.Signals, more: tuple[str, ...]
) -> None:
    whole, asked, calls = unbroken
    asked.questions.clear()
    asked.at, asked.how = calls * 2 // 3, how  # amid the second row, where they do not run side by side
    sweeper = Sweeper(whole.corpus, tmp_path / "broken", whole.url)
    code, printed = broken_off(sweeper, asked, *ROWS, *more)
    assert code == (-how if how == signal.SIGKILL else 130), printed
    assert "Traceback" not in printed
    assert ("the same command resumes" in printed) == (how != signal.SIGKILL)
    done = sweeper("-m", *ROWS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert asked.again <= (2 if more else 1)  # what each process had asked and not been answered
    assert len(folders(sweeper)) == 2
    assert hold_the_same(sweeper, whole)


def test_a_folder_says_which_row_it_is_and_a_single_run_of_the_row_goes_on_with_it(tmp_path: Path) -> None:
    given = ["dataset=demo", "backend=dry", "limit=1", f"runs={tmp_path}", "tags=[first]"]
    run = [sys.executable, "-m", "mmerg.run"]
    assert forked([*run, "-m", *given, "memory.top_k=1,2", "ablation=full,without_psp"]).returncode == 0
    names = sorted(folder.name.rpartition("-")[0] for folder in tmp_path.glob("demo-*"))
    rows = [f"top_k={k}-ablation={ablation}" for k in (1, 2) for ablation in ("full", "without_psp")]
    assert names == [f"demo-merg-dry-first-{row}" for row in rows]
    again = forked([*run, *given, "memory.top_k=2", "ablation=without_psp"])
    assert f"run: {tmp_path}/{names[3]}-" in again.stdout
    assert len(list(tmp_path.glob("demo-*"))) == len(rows)
    other = forked([*run, *given[:-1], "memory.top_k=2", "ablation=without_psp"])  # without the tag: a run of its own
    assert re.search(rf"run: {tmp_path}/demo-merg-dry-\w{{8}}\n", other.stdout)
