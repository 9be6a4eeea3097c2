"""What `styled` leaves behind: the environment as it was, a user's own folder and settings as they are."""

import os
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest

from mmerg.plots import style
from mmerg.plots.matrix import draw_matrix
from tests.scoring.run_builder import ROOT

DRAW = """
import io, os
from mmerg.plots import style
before = dict(os.environ)
for _ in range(2):
    with style.styled():
        style.label("x")
        style.new_figure(1.0).savefig(io.BytesIO())
assert dict(os.environ) == before
"""


@pytest.mark.parametrize("named", [False, True])
def test_only_a_folder_that_the_user_names_is_used(named: bool, tmp_path: Path) -> None:
    own = {"MPLCONFIGDIR": str(tmp_path / "own")} if named else {}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", DRAW],
        env={
            "HOME": str(tmp_path),
            "TMPDIR": str(tmp_path),
            "PYTHONPATH": str(ROOT),
            "PATH": os.environ["PATH"],
            **own,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [file.parent.name for file in tmp_path.rglob("fontlist-*")] == ["own"] * named
    assert [file.name for file in tmp_path.iterdir()] == ["own"] * named


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_figure_gives_the_same_bytes_and_names_no_program_or_time(ending: str) -> None:
    """Whatever the user's own settings are, which stay as they are."""

    def drawn() -> bytes:
        with style.styled():
            return style.image(draw_matrix(pd.DataFrame([[3]], ["joy"], ["gentle"]), "t", "c", "r", "c"), ending)

    data = drawn()
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red"}):
        assert drawn() == data
        assert mpl.rcParams["font.size"] == 20
    told = (b"dc:date", b"dc:creator", b"Software", b"tIME", b"CreationDate", b"/Producer", b"/Creator")
    assert not [word for word in told if word in data]


def test_labels_stay_on_a_line_and_within_what_the_font_has() -> None:
    assert style.label("a\nb\t c") == "a b c"
    assert style.label("悲しみ") == "\\u60b2\\u3057\\u307f"
    assert style.label("x" * 40) == "x" * (style.LONGEST - 1) + "…"
    assert style.label("Zärtlich, печаль") == "Zärtlich, печаль"
