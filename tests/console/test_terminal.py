"""Exit codes of commands, and output that cannot be written."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmerg.console.terminal import CLOSED, WRONG, run_command
from tests.engine.parts import ROOT


@pytest.mark.parametrize("prints", ["print", "console().print"])
@pytest.mark.parametrize(
    ("end", "code", "error"),
    [("| head -n 1", CLOSED, ""), ("> /dev/full", WRONG, "error: the disk is full, or a quota is reached\n")],
)
def test_output_that_cannot_be_written_ends_a_command(prints: str, end: str, code: int, error: str) -> None:
    if "full" in end and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    talks = (
        "from mmerg.console.terminal import console, start, run_command\n"
        f"start(lambda: run_command(lambda: [{prints}('wörter ✓' * 99) for _ in range(999)] and 0))"
    )
    command = f'"{sys.executable}" -c "$0" {end}; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command, talks], env=environment, capture_output=True, text=True, check=False)
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
