"""The style of all plots, and their files: as wide as a column of a paper, or wider if needed.

The user's settings of matplotlib are neither used nor changed.

    with styled():
        figure = draw_matrix(counts, "Tone by forecast emotion", caption, "forecast emotion", "tone")
        write_figure(figure, Path("plots/tone.png"))
"""

from __future__ import annotations

import io
import logging
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mmerg.console.terminal import printable
from mmerg.errors import preview
from mmerg.storage.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 3.3  # inches
SMALL, LARGE = 7.0, 8.0  # points
LINE = 0.13  # inches from one line of small text to the next
FONT = "DejaVu Sans"
LONGEST = 32  # characters of a label
INK, GREY, PALE, FAINT = "#1a1a1a", "#555555", "#8a8a8a", "#d9d9d9"
_escaped: set[str] = set()  # characters that no installed font has
_DATES_AND_PROGRAMS = {
    "png": ("Software",),
    "svg": ("Date", "Creator"),
    "pdf": ("CreationDate", "Creator", "Producer"),
}


@contextmanager
def styled() -> Iterator[None]:
    """The style, within which plots are drawn and written."""
    import matplotlib.style

    _escaped.clear()
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # some fonts have no bold letters
    with matplotlib.style.context(["default", Path(__file__).with_name("paper.mplstyle")]):
        yield


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure, in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def add_texts(figure: Figure, title: str, caption: str) -> None:
    """Adds the title above and the caption below, in lines that fit; the figure grows."""
    width, height = figure.get_size_inches()
    titles, captions = _wrap(title, width, LARGE, "bold"), _wrap(caption, width)
    figure.set_size_inches(width, height + LINE * (1.2 * len(titles) + len(captions) + 1))
    left = 0.06 / width
    figure.suptitle("\n".join(titles), x=left, ha="left")
    figure.supxlabel("\n".join(captions), x=left, ha="left", fontsize=SMALL, color=GREY)


def remove_title(figure: Figure) -> None:
    """Removes the title, for a paper with a caption; the figure shrinks."""
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height - 1.2 * LINE * (1 + figure.get_suptitle().count("\n")))
    figure.suptitle("")


def _wrap(text: str, width: float, size: float = SMALL, weight: str = "normal") -> list[str]:
    """The text in lines that fit a figure of this width, by its mean width of characters."""
    text = fit_label(text, 2000)
    letters_an_inch = len(text) / max(text_width(text, size, weight), 0.01)
    return textwrap.wrap(text, max(1, int(0.97 * (width - 0.12) * letters_an_inch)))


def text_width(text: str, size: float = SMALL, weight: str = "normal") -> float:
    """The width of a text in inches."""
    import matplotlib
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=matplotlib.rcParams["font.family"], size=size, weight=weight)
    points: float = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    return points / 72


def fit_label(text: str, longest: int = LONGEST) -> str:
    """Foreign text on one line of at most `longest` characters. A character that FONT lacks is drawn in another
    installed font, or shown as its code point if no font has it."""
    import matplotlib

    drawn = ""
    for character in printable(" ".join(text.split())):
        families, family = matplotlib.rcParams["font.family"], _find_font(character)
        if not family:
            _escaped.add(character)
        elif family not in families:
            matplotlib.rcParams["font.family"] = [*families, family]
        drawn += character if family else f"\\u{ord(character):04x}"
    return drawn if len(drawn) <= longest else drawn[: longest - 1] + "…"


def describe_missing_font() -> str:
    """The font to install for the code points in labels since `styled` began, or ""."""
    if not _escaped:
        return ""
    import matplotlib

    what = f"no installed font has {preview(sorted(_escaped), 5, '')}: they are shown as code points"
    fonts = "Noto Sans (Debian: fonts-noto-core, and fonts-noto-cjk for Chinese, Japanese and Korean)"
    return f"{what}; install {fonts}, and remove {matplotlib.get_cachedir()}/fontlist*.json"


@cache
def _find_font(character: str) -> str:
    """The font that has a character, or "". Fonts in colour cannot be drawn, and the last resort draws boxes."""
    from matplotlib.font_manager import fontManager

    names = {font.name for font in fontManager.ttflist if not re.search("Color|Emoji|Last ?Resort", font.name)}
    ordered = sorted(names, key=lambda name: (name != FONT, "Sans" not in name, name))
    return next((name for name in ordered if ord(character) in _list_characters(name)), "")


@cache
def _list_characters(family: str) -> frozenset[int]:
    """The code points of a font. Titles are bold, so its bold letters must have them, too."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    files = (findfont(FontProperties(family=[family], weight=weight)) for weight in ("normal", "bold"))
    return frozenset.intersection(*(frozenset(get_font(file).get_charmap()) for file in files))


def add_legend(place: Axes, axes: Axes) -> None:
    """Fills `place` with the legend of `axes`."""
    place.axis("off")
    place.legend(handles=axes.get_legend_handles_labels()[0], loc="upper left")


def encode_figure(figure: Figure, ending: str) -> bytes:
    """A figure as a file, without date and program, so that the same figure gives the same bytes."""
    import matplotlib
    from matplotlib.text import Text

    data = io.BytesIO()
    for text in figure.findobj(Text):  # some are older than a label that needs another font
        text.set_fontfamily(matplotlib.rcParams["font.family"])
    figure.savefig(data, format=ending, metadata=dict.fromkeys(_DATES_AND_PROGRAMS[ending]))
    return data.getvalue()


def write_figure(figure: Figure, path: Path) -> None:
    """Writes a PNG, SVG or PDF by the name's ending. Raises RunError if it cannot be written."""
    write_atomically(path, encode_figure(figure, path.suffix[1:]))
