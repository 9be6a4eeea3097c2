"""The notebook of docs/ runs as it stands, on a run of the name that `make demo` gives."""

import shutil
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from mmerg.score import main as score
from tests.plots.audited_runs import PASSED, build, planned
from tests.scoring.run_builder import ROOT


def test_the_notebook_goes_from_a_run_to_a_figure(tmp_path: Path) -> None:
    tries = [(planned("a/1", selected_pass=1, passes=2), ["psp", PASSED]), (planned("b/2"), [PASSED])]
    run = build(tmp_path / "runs/demo-merg-smollm2-135m-00000000", tries)
    assert score([str(run), "--resamples", "50"]) == 0
    (tmp_path / "docs").mkdir()
    page = Path(shutil.copy(ROOT / "docs/figure.ipynb", tmp_path / "docs"))
    notebook = nbformat.read(page, as_version=4)  # type: ignore[no-untyped-call]
    cells = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(page.parent)}}).execute()["cells"]
    samples, scores, figure = (cell["outputs"] for cell in cells if cell["cell_type"] == "code")
    assert "Oh no." in "".join(samples[0]["data"]["text/html"])
    assert "macro_f1" in "".join(scores[0]["data"]["text/plain"])
    assert any("image/png" in output.get("data", {}) for output in figure)
    assert (page.parent / "tokens.pdf").read_bytes().startswith(b"%PDF")
