"""What `mmerg new` writes runs as it is, and the page on building one's own says what works."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mmerg.new import KINDS, commands_of, main
from tests.engine.parts import ROOT
from tests.processes import forked

PAGE = (ROOT / "docs" / "own.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def mmerg(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command as the page has it, run in `folder`, which Python does not know."""
    _, command, *arguments = line.split("#", maxsplit=1)[0].split()
    return forked(
        [sys.executable, "-m", f"mmerg.{command}", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every command of the page was run."""
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


def test_a_metric_of_ones_own_is_scored_beside_ours(work: Path) -> None:
    [run] = (work / "runs").glob("demo-mine-*")
    done = mmerg(f"mmerg score --metric asking/asking_metric.py:metric {run}", work)
    assert done.returncode == 0, done.stderr
    assert "asking" in done.stdout
    assert "asking" in json.loads((run / "scores.json").read_text(encoding="utf-8"))["scores"]
    for wrong, error in (("asking/none.py:metric", "none.py"), ("asking/asking_metric.py:none", "cannot be imported")):
        done = mmerg(f"mmerg score --metric {wrong} {run}", work)
        assert (done.returncode, error in done.stderr) == (2, True)


def test_what_is_written_has_the_name_everywhere_and_its_commands(work: Path) -> None:
    for kind, name in zip(KINDS, ("mine", "talks", "asking", "small"), strict=True):
        texts = [file for file in (work / name).rglob("*") if file.is_file()]
        assert texts
        assert not [file for file in texts if "NAME" in file.name or "NAME" in file.read_text(encoding="utf-8")]
        assert all(name in command for command in commands_of(kind, name))
    done = mmerg("mmerg doctor --config-dir small backbone=small --cfg job -p backbone", work)
    assert "name: small\nmodel: gemma3:4b\n" in done.stdout


@pytest.mark.parametrize(("kind", "name"), [("system", "merg"), ("corpus", "meld")])
def test_the_name_of_a_config_of_mmerg_is_refused(kind: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([kind, name]) == 2
    assert f"={name} itself" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["my-system", "class", "Mine", "2nd", "../mine", "é", ""])
def test_a_name_that_python_cannot_import_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["system", name]) == 2
    assert "cannot be the name" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", ["backbone a/b", "backbone small x'y", "backbone gemma3-12b", "system merg"])
def test_what_is_no_backbone_or_mmergs_own_is_refused(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert main(["system", "mine"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]
