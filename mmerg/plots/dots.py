"""Figures of several runs side by side: a dot with its 95 % interval, a panel a metric, its n beside each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmerg.plots import style
from mmerg.plots.scored import TITLES, Scored, with_any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW, PANEL = 0.17, 1.15  # inches: a run's height, and a panel's least width with its column of n


def draw(runs: Sequence[Scored], names: Sequence[str], title: str, caption: str) -> Figure:
    """The figure; `names` in the order of `runs`. A run without a figure has an empty row in that panel."""
    metrics = with_any(list(runs))
    lines = math.ceil(len(metrics) / 2)
    labels = [style.label(name) for name in names]
    width = max(style.WIDTH, max(map(style.long, labels)) + 2 * PANEL + 0.15)
    figure = style.new(lines * (ROW * len(runs) + 0.5) + 0.1, width)
    grid = figure.add_gridspec(lines, 2)
    for place, metric in enumerate(metrics):
        axes = figure.add_subplot(grid[place // 2, place % 2])
        _panel(axes, metric, runs)
        axes.set_yticks(range(len(runs)), labels if place % 2 == 0 else [""] * len(runs))
        axes.set_ylim(len(runs) - 0.4, -0.6)
    style.head(figure, title, caption)
    return figure


def _panel(axes: Axes, metric: str, runs: Sequence[Scored]) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(TITLES[metric], fontsize=style.SMALL, pad=3)
    axes.text(1.04, -0.75, "n", transform=axes.get_yaxis_transform(), color="#555555", style="italic")
    for row, run in enumerate(runs):
        axes.axhline(row, color=style.FAINT, lw=0.5, zorder=0)
        if found := run.score(metric):
            value, score = found
            if score.interval:
                axes.hlines(row, *score.interval, color=style.INK, lw=1.0)
            axes.plot(value, row, style.MARKERS[0], color=style.INK, ms=3.5)
        n = str(found[1].n) if found else "–"
        axes.text(1.04, row, n, transform=axes.get_yaxis_transform(), va="center_baseline", color="#555555")
    axes.xaxis.set_major_locator(MaxNLocator(2, min_n_ticks=2))
    axes.margins(x=0.12)
    axes.tick_params(axis="y", length=0)
    style.bare(axes)
    axes.spines["left"].set_visible(False)
