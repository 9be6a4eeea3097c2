"""The style of all plots, and their files: as wide as a column of a paper, or wider if needed.

The user's settings of matplotlib are neither used nor changed.

    with styled():
        figure = draw_matrix(counts, "Tone by forecast emotion", caption, "forecast emotion", "tone")
        write(figure, Path("plots/tone.png"))
"""

from __future__ import annotations

import io
import logging
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mmerg.console.terminal import printable
from mmerg.storage.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 3.3  # inches
SMALL, LARGE = 7.0, 8.0  # points
LINE = 0.13  # inches from one line of small text to the next
LONGEST = 32  # characters of a label
INK, GREY, PALE, FAINT = "#1a1a1a", "#555555", "#8a8a8a", "#d9d9d9"
_DATES_AND_PROGRAMS = {
    "png": ("Software",),
    "svg": ("Date", "Creator"),
    "pdf": ("CreationDate", "Creator", "Producer"),
}


@contextmanager
def styled() -> Iterator[None]:
    """The style, within which plots are drawn and written."""
    import matplotlib.style

    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # most fonts of paper.mplstyle may be missing
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
    text = label(text, 2000)
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


def label(text: str, longest: int = LONGEST) -> str:
    """Foreign text on one line of at most `longest` characters."""
    drawn = printable(" ".join(text.split()))
    return drawn if len(drawn) <= longest else drawn[: longest - 1] + "…"


def add_legend(place: Axes, axes: Axes) -> None:
    """Fills `place` with the legend of `axes`."""
    place.axis("off")
    place.legend(handles=axes.get_legend_handles_labels()[0], loc="upper left")


def image(figure: Figure, ending: str) -> bytes:
    """A figure as a file, without date and program, so that the same figure gives the same bytes."""
    data = io.BytesIO()
    figure.savefig(data, format=ending, metadata=dict.fromkeys(_DATES_AND_PROGRAMS[ending]))
    return data.getvalue()


def write(figure: Figure, path: Path) -> None:
    """Writes a PNG, SVG or PDF by the name's ending. Raises RunError if it cannot be written."""
    write_whole(path, image(figure, path.suffix[1:]))
