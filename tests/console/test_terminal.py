"""Exit codes of commands, output that cannot be written, interrupted imports, and Windows."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmerg.console.terminal import EXIT_BROKEN_PIPE, EXIT_ERROR, run_command
from tests.engine.parts import ROOT


@pytest.mark.parametrize("prints", ["print", "console().print"])
@pytest.mark.parametrize(
    ("end", "code", "error"),
    [
        ("| head -n 1", EXIT_BROKEN_PIPE, ""),
        ("> /dev/full", EXIT_ERROR, "error: the disk is full, or a quota is reached\n"),
    ],
)
def test_output_that_cannot_be_written_ends_a_command(prints: str, end: str, code: int, error: str) -> None:
    if "full" in end and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    code_to_run = (
        "from mmerg.console.terminal import console, start, run_command\n"
        f"start(lambda: run_command(lambda: [{prints}('wörter ✓' * 99) for _ in range(999)] and 0))"
    )
    command = f'"{sys.executable}" -c "$0" {end}; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(
        ["bash", "-c", command, code_to_run], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.splitlines(keepends=True)[:1]) == (code, [error] if error else [])
    assert "Traceback" not in done.stderr


def test_a_path_without_permission_is_an_error_and_any_other_oserror_is_a_bug(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work(number: int) -> int:
        raise OSError(number, os.strerror(number), "/their/\x1bfile")

    assert run_command(lambda: work(errno.EACCES)) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: a path cannot be used: Permission denied\n  where: /their/\\u001bfile\n  next:  ")
    with pytest.raises(OSError, match="Bad file descriptor"):
        run_command(lambda: work(errno.EBADF))


def run_with(modules: dict[str, str], folder: Path, *command: str) -> tuple[int, str]:
    """Runs `python -m` with `modules` (code by name) in place of the real ones. Returns its exit code and errors."""
    for name, code in modules.items():
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    arguments = [sys.executable, "-m", *command]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_the_error_on_windows_names_wsl(tmp_path: Path) -> None:
    missing = dict.fromkeys(("fcntl", "resource"), "raise ModuleNotFoundError")
    code, errors = run_with(missing, tmp_path, "mmerg.doctor")
    assert (code, "Traceback" in errors, "WSL" in errors) == (2, False, True)


@pytest.mark.parametrize("command", ["mmerg", "mmerg.score"])
def test_interrupted_imports_print_one_line(command: str, tmp_path: Path) -> None:
    assert run_with({"rich": "raise KeyboardInterrupt"}, tmp_path, command) == (130, "interrupted\n")
