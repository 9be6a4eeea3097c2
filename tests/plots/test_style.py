"""Plots do not depend on the user's settings of matplotlib, and draw labels in any language."""

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


def test_characters_come_from_any_installed_font_or_become_code_points() -> None:
    """matplotlib's own STIXGeneral has the first one; a missing glyph would be a warning, which is an error here."""
    with style.styled():
        assert style.fit_label("\U0001d409 joy") == "\U0001d409 joy"
        assert not style.describe_missing_font()
        assert style.encode_figure(
            draw_matrix(pd.DataFrame([[3]], ["\U0001d409"], ["joy"]), "\U0001d409", "c", "r", "c"), "png"
        )
        assert style.fit_label("\U00030000") == "\\u30000"
        assert "no installed font has \U00030000: " in style.describe_missing_font()
