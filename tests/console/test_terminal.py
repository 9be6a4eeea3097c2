"""Exit codes of commands, and output that nobody reads."""

import errno
import os
import subprocess
import sys

import pytest

from mmerg.console.terminal import CLOSED, run_command
from tests.engine.parts import ROOT


def test_output_that_nobody_reads_ends_a_command_quietly() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    talks = (
        "import sys; from mmerg.console.terminal import start, run_command\n"
        "start(lambda: run_command(lambda: [print('wörter ✓' * 99) for _ in range(9999)] and 0))"
    )
    command = f'"{sys.executable}" -c "$0" | head -n 1; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command, talks], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (CLOSED, b"")


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
