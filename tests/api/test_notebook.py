"""The cells of docs/python.ipynb work, with replies that call no model."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.parts import ROOT


def run_cell(source: str, names: dict[str, Any]) -> object:
    """Runs a cell and returns the value of its last expression, which a notebook shows."""
    tree = ast.parse(source)
    if isinstance(last := tree.body[-1], ast.Expr):
        tree.body[-1] = ast.Assign([ast.Name("shown", ast.Store())], last.value)
    exec(compile(ast.fix_missing_locations(tree), "cell", "exec"), names)
    return names["shown"]


def test_the_notebook_makes_a_run_and_a_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "docs/python.ipynb").read_text(encoding="utf-8"))
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = [str(run_cell(source.replace("backend=embedded", "backend=dry"), names)) for source in sources]
    for text, word in zip(shown, ("2 samples, 0 failed", "macro_f1", "letter/5", "Reply(", "answer"), strict=False):
        assert word in text
    assert "did you mean backbone=qwen2.5vl-7b?" in capsys.readouterr().out
