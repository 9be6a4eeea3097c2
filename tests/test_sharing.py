"""What sweeps cost: a counting server proves that members ask once for what they share, in whatever order they come."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmerg.backends.dry import least
from mmerg.experiment.launch import launch
from mmerg.runs.folder import read_results
from mmerg.settings.compose import compose
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from tests.engine.parts import ROOT
from tests.memory.parts import quick
from tests.processes import main_of
from tests.run_folders import held
from tests.scripted_ollama import merg_answer, scripted_ollama
from tests.test_experiments import swept


class Demo:
    """Commands on a sample of the demo, and a server that counts each question it is asked."""

    def __init__(self, url: str, folder: Path, asked: Counter[str]) -> None:
        self.url, self.folder, self.asked = url, folder, asked

    def settings(self, experiment: str, runs: str, *more: str) -> tuple[str, ...]:
        memory = quick("memory") if experiment == "topk" else ["memory=none"]
        host = ("backend=ollama", f"backend.hosts=[{self.url}]", "backbone=qwen2.5vl-7b", f"runs={self.folder / runs}")
        return (f"+experiment={experiment}", "dataset=demo", "limit=1", *memory, *host, *more)

    def sweep(self, experiment: str, *more: str) -> dict[Path, int]:
        """A sweep, whose runs are in the folder "shared": the calls that each of them takes."""
        words = self.settings(experiment, "shared", *more)
        assert main_of("mmerg.run", "-m", *words) == 0
        return {run: sum(result.calls for result in read_results(run).values()) for run in self.runs("shared")}

    def separate(self, experiment: str, row: str) -> Path:
        """The run of one row by itself, with a reply cache of its own."""
        folder = re.sub(r"\W", "-", row)
        list(launch(parse(compose("config", self.settings(experiment, folder, row)), RunSettings)))
        [run] = self.runs(folder)
        return run

    def runs(self, name: str) -> list[Path]:
        return [manifest.parent for manifest in (self.folder / name).glob("demo-*/manifest.json")]


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    asked: Counter[str] = Counter()

    def answer(body: dict[str, Any]) -> str:
        asked[json.dumps(body, sort_keys=True)] += 1
        with suppress(ValueError):  # no stage of MERG asks
            reply = merg_answer(body)
            if "format" not in body or reply.startswith("{"):
                return reply
        mark = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        if "format" not in body:
            return f"I see, {mark[:6]}."
        return json.dumps(least(body["format"], int(mark, 16)))

    pages = (ROOT / "conf/backbone").glob("*.yaml")
    models = tuple(yaml.safe_load(page.read_text(encoding="utf-8"))["model"] for page in pages)
    with scripted_ollama(answer=answer, models=models) as server:
        yield Demo(server.url, tmp_path, asked)


@pytest.mark.parametrize("experiment", ["ablations", "vision", "systems"])
def test_members_ask_once_for_what_they_share_and_hold_what_separate_runs_hold(
    experiment: str, demo: Demo, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though the rows come last first, but for one that reads others."""
    [(key, values)] = swept(experiment).items()
    calls = demo.sweep(experiment, f"{key}={','.join(values if experiment == 'systems' else reversed(values))}")
    printed = capsys.readouterr().out
    made = demo.asked.total()
    assert set(demo.asked.values()) == {1}
    assert len(calls) == len(values)
    assert all(len(read_results(run)) == 1 for run in calls)
    assert all(f"{key}={value}" in printed for value in values) or len(values) == 1
    separate, largest = sum(calls.values()), max(calls.values())
    cost = f"{made} calls made, {separate - made} reused; separate runs would take {separate}"
    assert f"\n{cost}; the largest row alone takes {largest}\n" in printed
    assert (made < separate) == (experiment != "vision")  # other frames share nothing
    for value in {values[0], values[-1]} if experiment != "systems" else ():
        alone = demo.separate(experiment, f"{key}={value}")
        [shared] = (demo.folder / "shared").glob(f"*-{alone.name.rpartition('-')[2]}")  # the row is in its name
        assert held(shared) == held(alone)


def test_rows_of_one_pass_cost_what_their_agents_see_anew(demo: Demo) -> None:
    demo.sweep("topk", "system.max_iterations=0")
    assert demo.asked.total() == 3 + 6 * 2  # three stages once, then response and audit in each row
