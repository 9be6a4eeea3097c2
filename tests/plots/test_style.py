"""What `styled` leaves behind: nothing in the user's home, and the environment as it was."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scoring.run_builder import ROOT

DRAW = """
import io, os
from mmerg.plots import style
before = dict(os.environ)
for _ in range(2):
    with style.styled():
        style.label("x")
        style.new(1.0).savefig(io.BytesIO())
assert dict(os.environ) == before
"""
NOTHING = """
from mmerg.plots import style
with style.styled():
    pass
"""


@pytest.mark.parametrize("program", [DRAW, NOTHING + DRAW], ids=["a figure", "a figure after none was drawn"])
def test_nothing_is_left_in_the_users_home(program: str, tmp_path: Path) -> None:
    done = _run(program, {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_the_user_names_is_used(tmp_path: Path) -> None:
    done = _run(DRAW, {"HOME": str(tmp_path / "home"), "MPLCONFIGDIR": str(tmp_path / "own")})
    assert (done.returncode, done.stderr) == (0, "")
    assert list((tmp_path / "own").glob("fontlist-*"))
    assert not (tmp_path / "home").exists()


def _run(program: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**environment, "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
