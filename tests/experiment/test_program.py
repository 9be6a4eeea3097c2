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
        (("run", "max_iterations=3"), "did you mean system.max_iterations?"),
        (("run", "limt=3", "frames.max_frame=3", "dataset=medl"), "3 settings are wrong"),
        (("run", "limt=3", "seed=x", "dataset=demo"), "2 settings are wrong"),
        (("run", "dataset=demo", "seed=1,2"), "seed is '1,2'\n  where: command line\n  next:  one value; -m seed=1,2"),
        (("run", "dataset=demo", "hydra/launcher=jobli"), "did you mean joblib?"),
        (("run", "dataset=demo", "system.n=3"), "next:  +system.n=… adds it"),
        (("run", "dataset=demo", "ids=[\x1b[31m"), r"'ids=[\x1b[31m' cannot be read as a setting"),
        (("run", "ids=[a"), "as a text: \"ids='[a'\""),
        (("run", "dataset=demo", "--config-dir=nowhere"), "give the folder above the groups"),
        (("run", "dataset=demo", f"--config-dir={ROOT}/conf/system"), "this is the folder of one group"),
        (("run", "dataset=demo", "--config-dri=system"), "did you mean --config-dir?"),
        (("score", "--tokeniser", "char", "run"), "did you mean --tokenizer?"),
        (("run", "-m", "--cfg", "job"), "Only one of"),
        (("run",), "no dataset is chosen"),
        (("run", "dataset=demo", "backend.hosts=[http://me:secret@gpu1:1]"), "backend.hosts contains a password"),
        (("run", "backbone=qwen2.5vl-7"), "did you mean backbone=qwen2.5vl-7b?"),
        (("data", "runn=3"), "did you mean runs?"),
        (("judge", "judge.repeat=3"), "did you mean judge.repeats?"),
        (("doctor", "limt=3"), "there is no setting limt"),
    ],
)
def test_what_is_wrong_is_told_in_our_words(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = mmerg(*arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not [word for word in ("\x1b", "Traceback", "HYDRA_FULL_ERROR", "secret") if word in done.stderr]
    assert not list(tmp_path.iterdir())


def test_no_traceback_where_imports_are_interrupted_or_the_working_directory_is_gone(tmp_path: Path) -> None:
    (tmp_path / "rich.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    gone = tmp_path / "gone"
    gone.mkdir()
    lines = {
        f"PYTHONPATH=.:{ROOT} exec $0 -m mmerg score x": (130, "interrupted\n"),
        f"cd {gone} && rmdir {gone} && PYTHONPATH={ROOT} exec $0 -m mmerg show": (2, "error: the working directory"),
    }
    for line, (code, said) in lines.items():
        words = ["bash", "-c", line, sys.executable]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr[: len(said)], "Traceback" in done.stderr) == (code, said, False)


def test_a_password_of_the_environment_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://me:secret@gpu1:1")
    for more in (["--cfg", "job", "--resolve"], []):
        done = mmerg("run", "dataset=demo", "backend=ollama", *more, folder=tmp_path)
        assert "secret" not in done.stdout + done.stderr
    assert "backend.hosts is ['http://***@gpu1:1']" in done.stderr


@pytest.mark.parametrize("command", ["run", "data", "doctor", "import", "judge", "serve", "train"])
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
    assert mmerg("run", *own, *DRY, "frames=mine", folder=tmp_path).returncode == 0
    page.rename(hidden := page.with_name("none.yaml"))
    done = mmerg("run", *DRY, *own, "frames=none", folder=tmp_path)
    assert (
        done.returncode,
        f"frames=none is mmerg's own, so this file is not read\n  where: {hidden}" in done.stderr,
    ) == (2, True)
    assert outside_runs(tmp_path) == []


def test_a_sweep_of_the_basic_launcher_and_of_joblib_are_the_same(tmp_path: Path) -> None:
    rows = ("-m", *DRY, "+experiment=ablations")
    basic = mmerg("run", *rows, folder=tmp_path)
    assert basic.returncode == 0, basic.stderr
    assert "6 rows" in basic.stdout
    assert "separate runs would take 26" in basic.stdout
    printed = in_shell(f"mmerg run {' '.join(rows)} hydra/launcher=joblib hydra.launcher.n_jobs=2", tmp_path)
    assert "0 calls made, 26 reused" in printed.replace("\n", " ") or "0 calls made" in printed
    assert outside_runs(tmp_path) == []


def test_a_row_that_is_wrong_does_not_stop_the_others(tmp_path: Path) -> None:
    done = mmerg("run", "-m", *DRY, "system.without=[nobody],[psp]", folder=tmp_path)
    assert done.returncode == 2
    assert "not run: system.without=[nobody]: nobody is no agent of this system" in done.stdout.replace("\n", " ")
    assert len(list((tmp_path / "runs").glob("demo-*"))) == 1


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


def test_a_command_of_its_own_process_composes_the_default_backend(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mmerg.data", "dataset=meld", f"dataset.root={tmp_path / 'nowhere'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr.startswith("error: no dataset folder")
