"""The style of all plots, and their files. A figure is as wide as a column of a paper, or wider if needed.

The user's matplotlib settings are neither used nor changed.

    with styled():
        figure = draw_matrix(counts, "Tone by forecast emotion", caption, "forecast emotion", "tone")
        write_figure(figure, Path("plots/tone.png"))
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmerg.console.terminal import printable
from mmerg.storage.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 3.3  # inches
SMALL = 7.0  # points
LINE = 0.13  # inches; the height of a line of small text
MAX_LABEL = 32  # characters
INK, GREY, FAINT = "#1a1a1a", "#555555", "#d9d9d9"
_DATES_AND_PROGRAMS = {
    "png": ("Software",),
    "svg": ("Date", "Creator"),
    "pdf": ("CreationDate", "Creator", "Producer"),
}


@contextmanager
def styled() -> Iterator[None]:
    """Applies the style. Figures must be drawn and written within it."""
    import matplotlib.style

    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # no system has all fonts of the style
    with matplotlib.style.context(["default", Path(__file__).with_name("paper.mplstyle")]):
        yield


def new_figure(height: float, width: float) -> Figure:
    """Creates an empty figure. height, width: in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def add_texts(figure: Figure, title: str, caption: str) -> None:
    """Adds a title above and a caption below the figure, in lines that fit, and enlarges the figure by their height."""
    width, height = figure.get_size_inches()
    place: dict[str, Any] = {"x": 0.06 / width, "ha": "left", "wrap": True}
    texts = figure.suptitle(title, **place), figure.supxlabel(caption, fontsize=SMALL, color=GREY, **place)
    text_height = sum(text.get_window_extent().height for text in texts) / figure.dpi
    figure.set_size_inches(width, height + text_height + LINE)


def text_width(text: str) -> float:
    """Measures the width of a small text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    points: float = text_to_path.get_text_width_height_descent(text, FontProperties(size=SMALL), ismath=False)[0]
    return points / 72


def fit_label(text: str) -> str:
    """Makes a text from data fit for drawing: one line of at most MAX_LABEL characters."""
    label = printable(" ".join(text.split()))
    return label if len(label) <= MAX_LABEL else label[: MAX_LABEL - 1] + "…"


def encode_figure(figure: Figure, ending: str) -> bytes:
    """Returns the bytes of a figure's file, without date and program name: the same for the same figure."""
    data = io.BytesIO()
    figure.savefig(data, format=ending, metadata=dict.fromkeys(_DATES_AND_PROGRAMS[ending]))
    return data.getvalue()


def write_figure(figure: Figure, path: Path) -> None:
    """Writes a PNG, SVG or PDF file, by the ending of the name. Raises RunError if it cannot be written."""
    write_atomically(path, encode_figure(figure, path.suffix[1:]))
