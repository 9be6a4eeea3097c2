"""The positions of the texts in a figure, as its renderer computes them."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, TypeAlias

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

Drawn: TypeAlias = tuple[str, Bbox, float]


def drawn_texts(figure: Figure) -> list[Drawn]:
    """Returns the texts that are drawn, each with its box in pixels and its font size in points."""
    canvas: Any = FigureCanvasAgg(figure)  # its methods are untyped
    canvas.draw()
    renderer = canvas.get_renderer()
    hidden = _hidden(figure)
    texts = []
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text.get_text().strip() and text.get_visible() and text not in hidden:
            texts.append((text.get_text(), text.get_window_extent(renderer), float(text.get_fontsize())))
    return texts


def _hidden(figure: Figure) -> set[Text]:
    """Finds the labels of ticks outside their axis, or of an axis that is off, which are not drawn."""
    hidden: set[Text] = set()
    for axes in figure.axes:
        both: tuple[Any, Any] = (axes.xaxis, axes.yaxis)
        for axis in both:
            hidden |= {label for tick in axis.get_major_ticks() for label in (tick.label1, tick.label2)}
            if axes.axison:
                hidden -= {label for tick in axis._update_ticks() for label in (tick.label1, tick.label2)}
    return hidden


def overlaps(texts: Sequence[Drawn]) -> list[tuple[str, str]]:
    """Returns pairs of texts whose boxes overlap by more than a pixel in both directions."""
    return [
        (one, other)
        for (one, box, _), (other, place, _) in combinations(texts, 2)
        if min(box.x1, place.x1) - max(box.x0, place.x0) > 1 and min(box.y1, place.y1) - max(box.y0, place.y0) > 1
    ]


def outside(texts: Sequence[Drawn], figure: Figure) -> list[str]:
    """Returns the texts that extend beyond the edge of the figure by more than a pixel."""
    width, height = figure.get_size_inches() * figure.dpi
    return [words for words, box, _ in texts if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1]
