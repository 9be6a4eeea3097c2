"""What sweeps cost: a counting server shows that rows ask once for what they share, in any order."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmerg.experiment.launch import launch
from mmerg.runs.folder import read_results
from mmerg.settings.compose import compose
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from tests.processes import run_main
from tests.run_folders import read_contents
from tests.scripted_ollama import merg_answer, scripted_ollama
from tests.test_experiments import swept


class Demo:
    """Commands on one sample of the demo, and a server that counts its calls by content."""

    def __init__(self, url: str, folder: Path, asked: Counter[str]) -> None:
        self.url, self.folder, self.asked = url, folder, asked

    def settings(self, experiment: str, runs: str, *more: str) -> tuple[str, ...]:
        host = ("backend=ollama", f"backend.hosts=[{self.url}]", "backbone=qwen2.5vl-7b", f"runs={self.folder / runs}")
        return (f"+experiment={experiment}", "dataset=demo", "limit=1", "memory=none", *host, *more)

    def sweep(self, experiment: str, *more: str) -> dict[Path, int]:
        """Runs a sweep in the folder "shared" and returns the calls that each run takes."""
        words = self.settings(experiment, "shared", *more)
        assert run_main("mmerg.run", "-m", *words) == 0
        return {run: sum(result.calls for result in read_results(run).values()) for run in self.runs("shared")}

    def separate(self, experiment: str, row: str) -> Path:
        """Runs one row by itself, with its own completion cache."""
        folder = re.sub(r"\W", "-", row)
        launch(parse(compose("config", self.settings(experiment, folder, row)), RunSettings))
        [run] = self.runs(folder)
        return run

    def runs(self, name: str) -> list[Path]:
        return [manifest.parent for manifest in (self.folder / name).glob("demo-*/manifest.json")]


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    asked: Counter[str] = Counter()

    def answer(body: dict[str, Any]) -> str:
        asked[json.dumps(body, sort_keys=True)] += 1
        return merg_answer(body)

    with scripted_ollama(answer=answer) as server:
        yield Demo(server.url, tmp_path, asked)


@pytest.mark.slow
def test_rows_make_shared_calls_once_and_equal_separate_runs(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows come last first."""
    [(key, values)] = swept("ablations").items()
    calls = demo.sweep("ablations", f"{key}={','.join(reversed(values))}")
    printed = capsys.readouterr().out
    made = demo.asked.total()
    assert set(demo.asked.values()) == {1}
    assert len(calls) == len(values)
    assert all(len(read_results(run)) == 1 for run in calls)
    assert all(f"{key}={value}" in printed for value in values)
    separate, largest = sum(calls.values()), max(calls.values())
    cost = f"{made} calls made, {separate - made} reused; separate runs would take {separate}"
    assert f"\n{cost}; the largest row alone takes {largest}\n" in printed
    assert made < separate
    alone = demo.separate("ablations", f"{key}={values[0]}")
    [shared] = (demo.folder / "shared").glob(f"*-{alone.name.rpartition('-')[2]}")  # the row is in its name
    assert read_contents(shared) == read_contents(alone)
