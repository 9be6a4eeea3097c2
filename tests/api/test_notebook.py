"""The notebook of docs/ on the Python API runs as it stands, on the small model."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.engine.parts import ROOT

pytest.importorskip("xllamacpp", reason="the embedded model is not installed")


def test_the_notebook_makes_a_run_and_a_reply(tmp_path: Path) -> None:
    notebook = nbformat.read(ROOT / "docs/python.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    cells = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()["cells"]
    made, scores, samples, replied, parts, wrong = (
        "".join(str(output.get("data", output)) for output in cell["outputs"])
        for cell in cells
        if cell["cell_type"] == "code"
    )
    assert "2 samples, 0 failed" in made
    assert "macro_f1" in scores
    assert "letter/5" in samples
    assert "Reply(" in replied
    assert "emotion" in parts
    assert "did you mean backbone=qwen2.5vl-7b?" in wrong
