"""Quality against time: a marker a backbone, accuracy above, BERTScore or distinct-2 below, against seconds a sample.

Upright bars are 95 % intervals, level ones the quartiles of seconds. Rows without seconds (all from the reply cache) or
without the figure are not in that panel; the caption counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from mmerg.benching.rows import Bench, Row
from mmerg.plots import style
from mmerg.plots.scored import TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

PANEL = 1.5  # inches
SECOND = ("bert_f1", "dist2")  # the first of them that any row has


def panels(rows: Sequence[Row]) -> list[str]:
    """The figures that are drawn: those that a row has together with seconds."""
    having = [column for column in ("acc", *SECOND) if any(_drawn(row, column) for row in rows)]
    return having[:2] if "acc" in having else having[:1]


def draw(bench: Bench) -> Figure | None:
    """The figure; None where no row has both a figure and seconds."""
    columns = panels(bench.rows)
    if not columns:
        return None
    drawn = [row for row in bench.rows if any(_drawn(row, column) for column in columns)]
    legend = style.LINE * len(drawn) + 0.1
    width = max(style.WIDTH, max(style.long(_label(row)) for row in drawn) + 0.6)
    figure = style.new(PANEL * len(columns) + 0.2 + legend, width)
    grid = figure.add_gridspec(len(columns) + 1, 1, height_ratios=[*([PANEL] * len(columns)), legend])
    first: Axes | None = None
    for place, column in enumerate(columns):
        axes = figure.add_subplot(grid[place, 0], sharex=first)
        first = first or axes
        _panel(axes, column, drawn)
        axes.tick_params(labelbottom=place == len(columns) - 1)
    axes.set_xlabel("seconds a sample: median and quartiles")
    style.legend(figure.add_subplot(grid[len(columns), 0]), _handles(drawn))
    missing = len(bench.rows) - len(drawn)
    told = dict.fromkeys(row.protocol for row in drawn)
    engines = dict.fromkeys(f"({r.engine.mark}) {r.engine.backend} {r.engine.version}" for r in drawn)
    caption = " · ".join((bench.dataset, *told, *engines, *([f"{missing} rows without times"] if missing else [])))
    style.head(figure, "Quality, with 95 % intervals, against time", caption)
    return figure


def _drawn(row: Row, column: str) -> bool:
    return row.speed.seconds is not None and column in row.scores and row.scores[column].value is not None


def _panel(axes: Axes, column: str, rows: Sequence[Row]) -> None:
    for number, row in enumerate(rows):
        seconds, score = row.speed.seconds, row.scores.get(column)
        if seconds is None or score is None or score.value is None:
            continue
        low, high = score.interval or (score.value, score.value)
        axes.errorbar(
            seconds.median,
            score.value,
            xerr=[[seconds.median - seconds.p25], [seconds.p75 - seconds.median]],
            yerr=[[score.value - low], [high - score.value]],
            color=style.INK,
            ecolor=style.PALE,
            elinewidth=0.8,
            **_marker(number),
        )
    axes.set_title(TITLES[column], fontsize=style.SMALL, pad=3)
    axes.margins(0.12)
    _percent(axes)
    axes.grid(color=style.FAINT, lw=0.4)
    axes.set_axisbelow(True)
    style.bare(axes)


def _percent(axes: Axes) -> None:
    """Room for markers beyond 0 and 100, and nothing written there: there is no such share."""
    low, high = axes.get_ylim()
    low, high = max(low, -4.0), min(high, 104.0)
    axes.set_ylim(low, high)
    axes.set_yticks([tick for tick in axes.get_yticks() if max(low, 0.0) <= tick <= min(high, 100.0)])


class _Marker(TypedDict):
    marker: str
    ms: float
    mfc: str
    ls: str


def _marker(number: int) -> _Marker:
    """Markers, then the same ones hollow."""
    again, place = divmod(number, len(style.MARKERS))
    return {"marker": style.MARKERS[place], "ms": 4.5, "mfc": style.INK if again % 2 == 0 else "white", "ls": "none"}


def _handles(rows: Sequence[Row]) -> list[Line2D]:
    from matplotlib.lines import Line2D

    return [Line2D([], [], color=style.INK, label=_label(row), **_marker(number)) for number, row in enumerate(rows)]


def _label(row: Row) -> str:
    return f"{style.label(row.name)} ({row.engine.mark})"
