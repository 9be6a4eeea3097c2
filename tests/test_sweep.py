"""Sweeps: a row that fails does not stop the others, and the summary of all rows."""

import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mmerg.experiment.sweep import JobOutcome, Row, describe_cost, list_notes, tabulate_rows
from mmerg.runs.manifest import read_manifest
from mmerg.runs.result import RunOutcome
from tests.scripted_ollama import ScriptedOllama, scripted_ollama
from tests.test_run import Runner, corpus_in


class Sweeper(Runner):
    """A runner whose command may be a sweep."""

    def runs_by(self, *path: str) -> dict[str, Path]:
        """Run folders by the value of a setting."""
        runs = {}
        for manifest in sorted(self.runs.glob("folder-merg-*/manifest.json")):
            value: Any = read_manifest(manifest.parent).settings
            for name in path:
                value = value[name]
            runs[json.dumps(value)] = manifest.parent
        return runs


@pytest.fixture
def server() -> Iterator[ScriptedOllama]:
    with scripted_ollama() as made:
        yield made


@pytest.fixture
def sweeper(tmp_path: Path, server: ScriptedOllama) -> Sweeper:
    return Sweeper(corpus_in(tmp_path), tmp_path / "runs", server.url)


def test_a_row_that_cannot_run_does_not_stop_the_others(sweeper: Sweeper) -> None:
    done = sweeper("-m", "memory=none", "limit=1", "system.without=[mpa],[nobody],[psp]")
    assert done.returncode == 2
    assert "error: nobody is not an agent of this system" in done.stderr
    assert len(sweeper.runs_by("system", "without")) == 2
    printed = " ".join(done.stdout.split())
    assert "not run: system.without=[nobody]: nobody is not an agent of this system" in printed
    for name in ("mpa", "nobody", "psp"):  # a heading over what each says, in the order in which they are begun
        before, _, printed = printed.partition(f"── system.without=[{name}] ──")
        assert printed, before


def ended(name: str, calls: int, made: int, samples: int = 20) -> RunOutcome:
    return RunOutcome(run=f"/runs/{name}", samples=samples, failed=0, kept=5, calls=calls, made=made)


def row(words: Sequence[str], code: int, run: RunOutcome | None = None, error: str = "") -> Row:
    outcome = JobOutcome(code=code, error=error, run=run)
    return Row(name=words[0], overrides=tuple(words), outcome=outcome)


SWEPT = (
    row(("row=full", "limit=20"), 0, ended("meld-merg-x-1", 100, 100)),
    row(("row=same", "limit=20"), 0, ended("meld-merg-x-1", 100, 0)),
    row(("row=other", "limit=20"), 0, ended("meld-merg-x-2", 80, 30)),
    row(("row=llava", "limit=20"), 2, error="llava:13b is not pulled; ollama pull llava:13b"),
    row(("row=gemma", "limit=20"), 2, error="no server answers; ollama serve"),
    row(("row=qwen", "limit=20"), 2, error="no server answers; ollama serve"),
)


def test_the_summary_names_shared_runs_and_next_steps() -> None:
    assert list(list_notes(SWEPT)) == [
        "to score them: mmerg score /runs/meld-merg-x-1 /runs/meld-merg-x-2",
        "to test the differences from the first: mmerg compare /runs/meld-merg-x-1 /runs/meld-merg-x-2",
        "not run: row=llava: llava:13b is not pulled; ollama pull llava:13b",
        "not run: row=gemma, row=qwen: no server answers; ollama serve",
    ]
    assert describe_cost(SWEPT).startswith("130 calls made, 50 reused; separate runs would take 180;")


@pytest.mark.parametrize("width", [80, 160])
def test_the_summary_loses_no_digit_in_a_narrow_terminal(width: int) -> None:
    out = io.StringIO()
    Console(file=out, width=width).print(tabulate_rows(SWEPT))
    lines = [re.findall(r"\d+", line.partition("│ meld")[0]) for line in out.getvalue().splitlines()]
    assert ["20", "5", "0", "0", "80", "30", "50"] in lines
    assert max(map(len, out.getvalue().splitlines())) <= width
    assert "…" not in out.getvalue()
