"""How plots look: the same bytes whatever the user's own settings are."""

from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.font_manager import fontManager

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


def test_a_label_is_drawn_in_an_installed_font_that_has_its_letters(tmp_path: Path) -> None:
    """A font of one letter stands for one with those of Chinese."""
    made = FontBuilder(1000)
    made.setupGlyphOrder([".notdef", "sorrow"])
    made.setupCharacterMap({ord("悲"): "sorrow"})
    pen = TTGlyphPen(None)
    for corner in ((0, 0), (0, 700), (700, 700)):
        (pen.lineTo if corner[1] else pen.moveTo)(corner)
    pen.closePath()
    made.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "sorrow": pen.glyph()})
    made.setupHorizontalMetrics(dict.fromkeys((".notdef", "sorrow"), (800, 0)))
    made.setupHorizontalHeader(ascent=800, descent=-200)
    made.setupNameTable({"familyName": "One Sans", "styleName": "Regular", "psName": "OneSans"})
    made.setupOS2()
    made.setupPost()
    made.save(tmp_path / "one.ttf")
    with style.styled():
        assert style.label("悲") == "\\u60b2"
        assert "no installed font has 悲: " in style.missing_font()
    style._family.cache_clear()
    fontManager.addfont(tmp_path / "one.ttf")
    try:
        with style.styled():
            counts = pd.DataFrame([[3]], ["悲"], ["joy"])
            assert b"#OneSans" in style.image(draw_matrix(counts, "t", "c", "r", "c"), "svg")
            assert not style.missing_font()
    finally:
        fontManager.ttflist.pop()
        style._family.cache_clear()
