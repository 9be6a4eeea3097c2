"""How plots look: the same bytes whatever the user's own settings are."""

import matplotlib as mpl
import pandas as pd
import pytest

from mmerg.plots import style
from mmerg.plots.matrix import draw_matrix


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
