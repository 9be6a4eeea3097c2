"""Plots do not depend on the user's settings of matplotlib."""

import matplotlib as mpl
import pandas as pd
import pytest

from mmerg.plots import style
from mmerg.plots.matrix import draw_matrix


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_figure_gives_the_same_bytes_without_programs_and_times(ending: str) -> None:
    def draw() -> bytes:
        with style.styled():
            return style.encode_figure(
                draw_matrix(pd.DataFrame([[3]], ["joy"], ["gentle"]), "t", "c", "r", "c"), ending
            )

    data = draw()
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red"}):
        assert draw() == data
        assert mpl.rcParams["font.size"] == 20
    words = (b"dc:date", b"dc:creator", b"Software", b"tIME", b"CreationDate", b"/Producer", b"/Creator")
    assert not [word for word in words if word in data]
