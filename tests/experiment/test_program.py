"""Commands as Hydra programs: Hydra's own flags, mmerg's errors and exit codes, and nothing outside `runs/`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.parts import ROOT
from tests.processes import in_process

DRY = ("dataset=demo", "backend=dry", "limit=1", "memory=none")


def mmerg(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return in_process([sys.executable, "-m", "mmerg", *arguments], cwd=folder)


def in_shell(script: str, folder: Path) -> str:
    """What a shell script prints in which `mmerg` is this one."""
    program = folder / "runs" / "bin" / "mmerg"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mmerg "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    line = ["bash", "-c", script]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def outside_runs(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if file.name != "runs"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rum",), "there is no command rum\n  where: command line\n  next:  did you mean mmerg run?"),
        (("run", "limt=3", "frames.max_frame=3", "dataset=medl"), "3 settings are wrong"),
        (("run", "dataset=demo", "seed=1,2"), "Ambiguous value for argument 'seed=1,2'"),
        (("run", "dataset=demo", "hydra/launcher=jobli"), "Available options in 'hydra/launcher': basic joblib"),
        (("run", "dataset=demo", "ids=[\x1b[31m"), r"'ids=[\x1b[31m' cannot be read as a setting"),
        (("run", "dataset=demo", "--config-dir=nowhere"), "give the folder above the groups"),
        (("run", "dataset=demo", "--config-dri=system"), "there is no option --config-dri=system\n  where: "),
        (("score", "--tokeniser", "char", "run"), "unrecognized arguments: --tokeniser"),
        (("run", "-m", "--cfg", "job"), "Only one of"),
        (("run",), "no dataset is chosen"),
        (("run", "demo", "dataset=demo"), "did you mean dataset=demo?"),
        (("run", "-m", "seed=1,2", "backend.hosts=[http://me:secret@gpu1:1]"), "backend.hosts contains a password"),
        (("judge", "judge.repeat=3"), "did you mean judge.repeats?"),
    ],
)
def test_errors_say_what_to_do(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = mmerg(*arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not [word for word in ("\x1b", "Traceback", "HYDRA_FULL_ERROR", "secret") if word in done.stderr]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["run", "judge", "train"])
def test_help_says_what_the_command_does_and_what_can_be_set(command: str, tmp_path: Path) -> None:
    done = mmerg(command, "--help", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"`mmerg {command} " in done.stdout.splitlines()[0]
    assert "Groups (group=option):" in done.stdout
    assert not list(tmp_path.iterdir())


def test_flags_of_hydra(tmp_path: Path) -> None:
    page = tmp_path / "runs" / "conf" / "frames" / "mine.yaml"
    page.parent.mkdir(parents=True)
    page.write_text("defaults: [paper]\nseen_by: all\n", encoding="utf-8")
    own = ("--config-dir", str(page.parents[1]))
    done = mmerg("run", *own, "dataset=demo", "frames=mine", "--cfg", "job", "-p", "frames", folder=tmp_path)
    assert "seen_by: all\n" in done.stdout
    assert f"file://{page.parents[1]}" in mmerg("run", *own, "--info", "searchpath", folder=tmp_path).stdout
    assert mmerg("run", "-m", *own, *DRY, "frames=mine,none", folder=tmp_path).returncode == 0
    page.rename(hidden := page.with_name("none.yaml"))
    done = mmerg("run", *DRY, *own, "frames=none", folder=tmp_path)
    assert (
        done.returncode,
        f"frames=none is mmerg's own, so this file is not read\n  where: {hidden}" in done.stderr,
    ) == (2, True)
    assert outside_runs(tmp_path) == []


def test_tab_completes_in_bash(tmp_path: Path) -> None:
    """`eval "$(mmerg -sc install=bash)"`, as Hydra's docs have it."""
    script = """
eval "$(mmerg -sc install=bash)"
complete -p mmerg
COMP_LINE="mmerg run dataset=me" COMP_WORDS=(mmerg run dataset=me) COMP_CWORD=2 hydra_bash_completion
echo "<${COMPREPLY[*]}>"
COMP_LINE="mmerg sc" COMP_WORDS=(mmerg sc) COMP_CWORD=1 hydra_bash_completion
echo "<${COMPREPLY[*]}>"
"""
    printed = in_shell(script, tmp_path).splitlines()
    assert printed[0].endswith("-F hydra_bash_completion mmerg")
    assert printed[1:] == ["<dataset=meld>", "<score>"]
