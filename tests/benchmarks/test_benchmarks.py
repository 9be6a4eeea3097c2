"""Every program in benchmarks/ can be imported without doing anything, and says what it measures."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if "\ndef main(" in path.read_text("utf-8"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_documented_and_has_a_main(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert f"python benchmarks/{name}.py" in (module.__doc__ or "")
    assert callable(module.main)


def test_importing_them_says_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-B", "-c", f"import {', '.join(f'benchmarks.{name}' for name in PROGRAMS)}"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
