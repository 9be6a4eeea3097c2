"""What `mmerg new` writes runs unchanged, and the commands in docs/extend.md work."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mmerg.new import main
from tests.engine.parts import ROOT
from tests.processes import forked

PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def mmerg(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command of the page in `folder`, which is not on Python's path."""
    _, command, *arguments = line.split("#", maxsplit=1)[0].split()
    return forked(
        [sys.executable, "-m", f"mmerg.{command}", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all commands of the page were run."""
    folder = tmp_path_factory.mktemp("work")
    for line in COMMANDS:
        done = mmerg(line, folder)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return folder


def test_the_commands_of_the_page_work(work: Path) -> None:
    runs = sorted(run.name.rpartition("-")[0] for run in (work / "runs").glob("*-*"))
    assert runs == ["demo-mine-dry", "talks-merg-dry"]
    for run in (work / "runs").glob("*-*"):
        results = [json.loads(line) for line in (run / "results.jsonl").read_text(encoding="utf-8").splitlines()]
        assert {result["status"] for result in results} == {"ok"}


def test_a_new_metric_is_scored_with_the_others(work: Path) -> None:
    [run] = (work / "runs").glob("demo-mine-*")
    done = mmerg(f"mmerg score --metric asking/asking_metric.py:metric {run}", work)
    assert done.returncode == 0, done.stderr
    assert "asking" in done.stdout
    assert "asking" in json.loads((run / "scores.json").read_text(encoding="utf-8"))["scores"]
    for path, message in (("asking/none.py:metric", "none.py"), ("asking/asking_metric.py:none", "cannot be imported")):
        done = mmerg(f"mmerg score --metric {path} {run}", work)
        assert done.returncode == 2
        assert message in done.stderr


def test_the_name_replaces_all_placeholders(work: Path) -> None:
    for name in ("mine", "talks", "asking", "small"):
        files = [file for file in (work / name).rglob("*") if file.is_file()]
        assert files
        assert not [file for file in files if "NAME" in file.name or "NAME" in file.read_text(encoding="utf-8")]
    done = mmerg("mmerg doctor --config-dir small backbone=small --cfg job -p backbone", work)
    assert "name: small\nmodel: gemma3:4b\n" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("system merg", "mmerg has system=merg itself"),
        ("system mine --from mreg", "did you mean system=merg?"),
        *((f"system {name}", "cannot be the name") for name in ("my-system", "class", "../mine")),
        ("backbone small x'y", "is no name and model of a backbone"),
    ],
)
def test_a_wrong_name_is_refused(
    arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments.split()) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_system_extends_merg_with_a_prompt_and_an_agent(tmp_path: Path) -> None:
    assert mmerg("mmerg new system caused --from merg", tmp_path).returncode == 0
    config, prompts = tmp_path / "caused/system/caused.yaml", tmp_path / "caused/system/caused"
    assert sorted(file.name for file in prompts.iterdir()) == ["caef.j2", "gra.j2", "mpa.j2", "psp.j2", "sgrg.j2"]
    (prompts / "psp.j2").write_text(f"Plan with care. {(prompts / 'psp.j2').read_text()}", encoding="utf-8")
    (prompts / "cause.j2").write_text("Why does the other feel this?", encoding="utf-8")
    config.write_text(re.sub(r"^# (?=stages:|  |auditor:)", "", config.read_text(), flags=re.MULTILINE), "utf-8")
    done = mmerg("mmerg run --config-dir caused dataset=demo backend=dry system=caused limit=1", tmp_path)
    assert done.returncode == 0, done.stderr
    [run] = (tmp_path / "runs").glob("demo-caused-*")
    trace = mmerg(f"mmerg show {run} letter/5 --prompts", tmp_path).stdout
    assert 0 < trace.index("Why does the other feel this?") < trace.index("Plan with care.")


def test_existing_folders_are_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert main(["system", "mine"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]
