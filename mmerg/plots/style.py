"""The style of all plots, and their files. A figure is as wide as a column of a paper, or wider if needed.

The user's matplotlib settings are neither used nor changed.

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
    from matplotlib.figure import Figure

WIDTH = 3.3  # inches
SMALL, LARGE = 7.0, 8.0  # points
LINE = 0.13  # inches; the height of a line of small text
FONT = "DejaVu Sans"
MAX_LABEL = 32  # characters
INK, GREY, FAINT = "#1a1a1a", "#555555", "#d9d9d9"
_escaped: set[str] = set()  # characters that no installed font has
_DATES_AND_PROGRAMS = {
    "png": ("Software",),
    "svg": ("Date", "Creator"),
    "pdf": ("CreationDate", "Creator", "Producer"),
}


@contextmanager
def styled() -> Iterator[None]:
    """Applies the style. Figures must be drawn and written within it."""
    import matplotlib.style

    _escaped.clear()
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # some fonts have no bold letters
    with matplotlib.style.context(["default", Path(__file__).with_name("paper.mplstyle")]):
        yield


def new_figure(height: float, width: float) -> Figure:
    """Creates an empty figure. height, width: in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def add_texts(figure: Figure, title: str, caption: str) -> None:
    """Adds a title above and a caption below the figure, in lines that fit, and enlarges the figure by their height."""
    width, height = figure.get_size_inches()
    titles, captions = _wrap(title, width, LARGE, "bold"), _wrap(caption, width)
    figure.set_size_inches(width, height + LINE * (1.2 * len(titles) + len(captions) + 1))
    left = 0.06 / width
    figure.suptitle("\n".join(titles), x=left, ha="left")
    figure.supxlabel("\n".join(captions), x=left, ha="left", fontsize=SMALL, color=GREY)


def remove_title(figure: Figure) -> None:
    """Removes the title, for papers that print a caption, and reduces the figure by its height."""
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height - 1.2 * LINE * (1 + figure.get_suptitle().count("\n")))
    figure.suptitle("")


def _wrap(text: str, width: float, size: float = SMALL, weight: str = "normal") -> list[str]:
    """Splits a text into lines that fit a figure of this width (in inches), by the mean width of its characters."""
    text = fit_label(text, 2000)
    characters_per_inch = len(text) / max(text_width(text, size, weight), 0.01)
    return textwrap.wrap(text, max(1, int(0.97 * (width - 0.12) * characters_per_inch)))


def text_width(text: str, size: float = SMALL, weight: str = "normal") -> float:
    """Measures the width of a text in inches."""
    import matplotlib
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=matplotlib.rcParams["font.family"], size=size, weight=weight)
    points: float = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    return points / 72


def fit_label(text: str, max_length: int = MAX_LABEL) -> str:
    """Makes a text from data fit for drawing: one line of at most `max_length` characters. A character that FONT lacks
    is drawn in another installed font, or shown as its code point if no font has it."""
    import matplotlib

    label = ""
    for character in printable(" ".join(text.split())):
        families, family = matplotlib.rcParams["font.family"], _find_font(character)
        if not family:
            _escaped.add(character)
        elif family not in families:
            matplotlib.rcParams["font.family"] = [*families, family]
        label += character if family else f"\\u{ord(character):04x}"
    return label if len(label) <= max_length else label[: max_length - 1] + "…"


def describe_missing_font() -> str:
    """Names the font to install if labels show code points since `styled` was entered, else ""."""
    if not _escaped:
        return ""
    import matplotlib

    what = f"no installed font has {preview(sorted(_escaped), 5, '')}: they are shown as code points"
    fonts = "Noto Sans (Debian: fonts-noto-core, and fonts-noto-cjk for Chinese, Japanese and Korean)"
    return f"{what}; install {fonts}, and remove {matplotlib.get_cachedir()}/fontlist*.json"


@cache
def _find_font(character: str) -> str:
    """Finds the font that has a character, or "". Colour fonts cannot be drawn, and last-resort fonts draw boxes."""
    from matplotlib.font_manager import fontManager

    names = {font.name for font in fontManager.ttflist if not re.search("Color|Emoji|Last ?Resort", font.name)}
    ordered = sorted(names, key=lambda name: (name != FONT, "Sans" not in name, name))
    return next((name for name in ordered if ord(character) in _list_characters(name)), "")


@cache
def _list_characters(family: str) -> frozenset[int]:
    """Lists the code points that a font has in normal and in bold, which titles need."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    files = (findfont(FontProperties(family=[family], weight=weight)) for weight in ("normal", "bold"))
    return frozenset.intersection(*(frozenset(get_font(file).get_charmap()) for file in files))


def encode_figure(figure: Figure, ending: str) -> bytes:
    """Returns the bytes of a figure's file, without date and program name: the same for the same figure."""
    import matplotlib
    from matplotlib.text import Text

    data = io.BytesIO()
    for text in figure.findobj(Text):  # a later label may have added a font
        text.set_fontfamily(matplotlib.rcParams["font.family"])
    figure.savefig(data, format=ending, metadata=dict.fromkeys(_DATES_AND_PROGRAMS[ending]))
    return data.getvalue()


def write_figure(figure: Figure, path: Path) -> None:
    """Writes a PNG, SVG or PDF file, by the ending of the name. Raises RunError if it cannot be written."""
    write_atomically(path, encode_figure(figure, path.suffix[1:]))
