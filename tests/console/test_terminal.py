"""What a terminal cannot take never decides a run."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmerg.console.terminal import run_command
from tests.engine.parts import ROOT

TALKS = (
    "import sys; from mmerg.console.terminal import tolerate_closed_output; tolerate_closed_output()\n"
    "for n in range(20000): print('wörter ✓ ' * 10)\n"
    "sys.stdout.flush(); open(sys.argv[1], 'w').write('done')"
)


@pytest.mark.parametrize("end", ["| head -n 1 >/dev/null", "> /dev/full"])
def test_work_goes_on_when_nobody_reads_on_or_the_output_cannot_be_written(end: str, tmp_path: Path) -> None:
    if "full" in end and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    mark = tmp_path / "mark"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    command = f'"{sys.executable}" -c "$0" "{mark}" {end}; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command, TALKS], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr, mark.read_text()) == (0, b"", "done")


def test_a_path_that_may_not_be_opened_is_told_and_any_other_error_of_the_system_is_a_bug(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work(number: int) -> int:
        raise OSError(number, os.strerror(number), "/their/\x1bfile")

    assert run_command(lambda: work(errno.EACCES)) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: a path cannot be used: Permission denied\n  where: /their/\\u001bfile\n  next:  ")
    with pytest.raises(OSError, match="Bad file descriptor"):
        run_command(lambda: work(errno.EBADF))


def test_windows_is_told_to_use_wsl(tmp_path: Path) -> None:
    (tmp_path / "fcntl.py").write_text("raise ModuleNotFoundError", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "mmerg.data", "dataset=demo"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: mmerg runs on Linux and macOS")
    assert "WSL" in done.stderr


@pytest.mark.parametrize("command", ["mmerg", "mmerg.run", "mmerg.score"])
def test_an_interruption_of_the_imports_is_one_line(command: str, tmp_path: Path) -> None:
    (tmp_path / "rich.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-m", command], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
