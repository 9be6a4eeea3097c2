"""How all plots look, and how they become files.

Figures are 3.3 inches wide, a column of a paper, or wider where a matrix needs it; no letter is under 7 points. They
read without colour: maps go from light to dark, series have markers and hatches, too. Matplotlib's global settings and
a user's own are neither used nor changed, nothing is left in the user's home, its pyplot is not imported, and the same
figure gives the same bytes.

    with styled():
        figure = heat.draw(table, "Tone by forecast emotion", caption)
        write(figure, Path("plots/tone.png"))
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
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
FONT = "DejaVu Sans"  # comes with matplotlib, so that a figure is the same everywhere
LONGEST = 24  # characters of a label
INK, PALE, FAINT = "#1a1a1a", "#8a8a8a", "#d9d9d9"
MARKERS = "osD^vP*X<>hd"
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo")
_NAMED = {"png": ("Software",), "svg": ("Date", "Creator"), "pdf": ("CreationDate", "Creator", "Producer")}
SIZES = ("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
COLOURS = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
SETTINGS: dict[str, object] = {
    **dict.fromkeys(SIZES, SMALL),
    **dict.fromkeys(COLOURS, INK),
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 2.5),
    **dict.fromkeys(("figure.constrained_layout.h_pad", "figure.constrained_layout.w_pad"), 0.03),
    "font.family": FONT,
    "hatch.linewidth": 0.5,
    "axes.titlesize": LARGE,
    "axes.titlelocation": "left",
    "text.parse_math": False,  # a dollar in a label is a dollar
    "axes.unicode_minus": False,
    "svg.hashsalt": "mmerg",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,  # type 3, the default, is refused by many a publisher
    "savefig.dpi": 300,
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw and write within it. What was set before, in a matplotlibrc too, is set again after it."""
    with _own_folder():
        import matplotlib as mpl
        import matplotlib.style as looks

        with mpl.rc_context(), looks.context(["default", SETTINGS]):
            yield


@contextmanager
def _own_folder() -> Iterator[None]:
    """Let matplotlib keep its list of fonts in a folder that goes away again, not in the user's home, unless
    MPLCONFIGDIR names one; it makes the list with the first figure, in a second or so."""
    if "MPLCONFIGDIR" in os.environ or "matplotlib.font_manager" in sys.modules:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="mmerg-matplotlib-") as folder:
        os.environ["MPLCONFIGDIR"] = folder
        try:
            yield
        finally:
            del os.environ["MPLCONFIGDIR"]


def new(height: float, width: float = WIDTH) -> Figure:
    """An empty figure, in inches, that lays itself out."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def head(figure: Figure, title: str, caption: str) -> None:
    """Put the title above and the caption below, broken into lines that fit; the figure grows by them."""
    width, height = figure.get_size_inches()
    room = (width - 0.12) * 0.95  # letters are set to whole pixels, which can make a line longer
    titles = wrapped(label(title, 400), room, LARGE, "bold")
    captions = wrapped(label(caption, 2000), room)
    figure.set_size_inches(width, height + LINE * (1.2 * len(titles) + len(captions) + 1))
    left = 0.06 / width
    figure.suptitle("\n".join(titles), x=left, ha="left", fontsize=LARGE, fontweight="bold")
    figure.supxlabel("\n".join(captions), x=left, ha="left", fontsize=SMALL, color="#555555")


def wrapped(text: str, room: float, size: float = SMALL, weight: str = "normal") -> list[str]:
    """`text` as lines at most `room` inches long; a word that is longer is broken."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".lstrip()
        if long(joined, size, weight) <= room:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if long(lines[-1] + letter, size, weight) > room:
                lines.append("")
            lines[-1] += letter
    return lines


def long(text: str, size: float = SMALL, weight: str = "normal") -> float:
    """How long a text is, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, size=size, weight=weight)
    width: float = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    return width / 72


def label(text: str, longest: int = LONGEST) -> str:
    """Foreign text as it can be drawn: on one line, what the font lacks spelled out, cut to `longest` characters."""
    known = _known()
    plain = printable(" ".join(text.split()))
    drawn = "".join(letter if ord(letter) in known else f"\\u{ord(letter):04x}" for letter in plain)
    return drawn if len(drawn) <= longest else drawn[: longest - 1] + "…"


@cache
def _known() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties(family=FONT))).get_charmap())


def limits(shown: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis that shows these values with room beside them, also where they are all equal."""
    low, high = min(shown, default=0.0), max(shown, default=1.0)
    size = max(abs(low), abs(high))
    room = 0.12 * (high - low) if high - low > 1e-9 * size else 0.05 * size or 1.0
    return low - room, high + room


def legend(told: Axes, axes: Axes) -> None:
    """Make `told` the legend of `axes` and nothing else, a line a handle."""
    told.axis("off")
    frame = {"frameon": False, "borderpad": 0.0, "borderaxespad": 0.0, "labelspacing": 0.2, "handlelength": 2.0}
    told.legend(handles=axes.get_legend_handles_labels()[0], loc="upper left", **frame)


def bare(axes: Axes) -> None:
    """Leave the lines that carry a scale."""
    axes.spines[["top", "right"]].set_visible(False)


def untitled(figure: Figure) -> None:
    """Take the title off again, as a paper has a caption of its own; the figure shrinks by it."""
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height - 1.2 * LINE * (1 + figure.get_suptitle().count("\n")))
    figure.suptitle("")


def drawn(figure: Figure, ending: str) -> bytes:
    """A figure as a file of this ending: the same bytes for the same figure, without a date or a program's name."""
    data = io.BytesIO()
    figure.savefig(data, format=ending, metadata=dict.fromkeys(_NAMED[ending]))
    return data.getvalue()


def write(figure: Figure, path: Path) -> None:
    """Write a PNG, SVG or PDF by the name's ending, whole or not at all. Raises RunError where it cannot be written."""
    write_whole(path, drawn(figure, path.suffix[1:]))
