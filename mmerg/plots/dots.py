"""A plot of the scores of runs: a panel per metric, a row per run, and in each a dot with its 95 % interval, and n."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mmerg.plots import style
from mmerg.plots.run_data import TITLES, RunData, describe_scores, list_plotted_metrics
from mmerg.scoring.score import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW, PANEL = 0.17, 1.15  # inches: the height of a row, and the least width of a panel with its column of n


def draw_scores(runs: Sequence[RunData]) -> Figure | None:
    """Draws the metrics for which any run has a value; returns None if there are none."""
    metrics = list_plotted_metrics(runs)
    if not metrics:
        return None
    lines = math.ceil(len(metrics) / 2)
    labels = [style.fit_label(run.label) for run in runs]
    width = max(style.WIDTH, max(map(style.text_width, labels)) + 2 * PANEL + 0.15)
    figure = style.new_figure(lines * (ROW * len(runs) + 0.5) + 0.1, width)
    for number, metric in enumerate(metrics):
        axes = figure.add_subplot(lines, 2, number + 1)
        _draw_panel(axes, TITLES[metric], [run.score(metric) for run in runs])
        axes.set_yticks(range(len(runs)), labels if number % 2 == 0 else [""] * len(runs))
        axes.set_ylim(len(runs) - 0.4, -0.6)
    style.add_texts(figure, "Scores with 95 % intervals", describe_scores(runs))
    return figure


def _draw_panel(axes: Axes, heading: str, scores: Sequence[Score | None]) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(heading)
    write_at_right = partial(axes.text, 1.04, transform=axes.get_yaxis_transform(), color=style.GREY)
    write_at_right(-0.75, "n", style="italic")
    for row, score in enumerate(scores):
        axes.axhline(row, color=style.FAINT, lw=0.5, zorder=0)
        n = "–"
        if score and score.value is not None:
            low, high = score.interval or (score.value, score.value)
            axes.hlines(row, low, high, color=style.INK, lw=1.0)
            axes.plot(score.value, row, "o", color=style.INK, ms=3.5)
            n = str(score.n)
        write_at_right(row, n, va="center_baseline")
    axes.xaxis.set_major_locator(MaxNLocator(2, min_n_ticks=2))
    low, high = axes.dataLim.intervalx if np.isfinite(axes.dataLim.intervalx).all() else (0.0, 1.0)
    room = 0.12 * (high - low) or 0.05 * abs(high) or 1.0  # the last two if all values are equal
    low, high = low - room, high + room
    axes.set_xlim(low, high)
    if heading.endswith("%"):  # ticks only from 0 to 100
        axes.set_xticks([tick for tick in axes.get_xticks() if max(low, 0.0) <= tick <= min(high, 100.0)])
        axes.set_xlim(low, high)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
