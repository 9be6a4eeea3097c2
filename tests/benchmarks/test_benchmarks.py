"""Every program in benchmarks/ can be imported and says how to run it."""

import importlib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_programs_are_documented_and_have_a_main() -> None:
    names = [path.stem for path in (ROOT / "benchmarks").glob("*.py") if "\ndef main(" in path.read_text("utf-8")]
    for name in names:
        module = importlib.import_module(f"benchmarks.{name}")
        assert f"python benchmarks/{name}.py" in (module.__doc__ or "")
    assert names
