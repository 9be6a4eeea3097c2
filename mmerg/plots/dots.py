"""Figures side by side, of runs or else: a dot with its 95 % interval, a panel a figure, its n beside each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mmerg.auditing.planted import COLUMNS, Planted
from mmerg.plots import style
from mmerg.plots.scored import TITLES, Scored, with_any
from mmerg.scoring.score import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mmerg.scoring.paired import Comparison

FIGURES = "Figures with 95 % intervals"
PLANTED = "Planted faults: what the auditor passes, finds and blames"
ROW, PANEL = 0.17, 1.15  # inches: a row's height, and a panel's least width with its column of n


def draw(runs: Sequence[Scored], names: Sequence[str], caption: str) -> Figure:
    """The metrics that any run has a figure of; `names` in the order of `runs`."""
    found = {name: [run.score(name) for run in runs] for name in with_any(list(runs))}
    scores = {TITLES[name]: [one and one[1] for one in of] for name, of in found.items()}
    return panels(scores, names, FIGURES, caption)


def forest(compared: Mapping[str, Sequence[Comparison]], title: str, caption: str) -> Figure | None:
    """Differences from a first run: a panel for each other run by its name, a row for each figure that is a share; None
    where none was compared."""
    found = {(run, one.metric): one for run, all in compared.items() for one in all if one.difference is not None}
    rows = [name for name, told in TITLES.items() if told.endswith("%") and any(name == metric for _, metric in found)]
    if not rows:
        return None

    def score(run: str, name: str) -> Score | None:
        one = found.get((run, name))
        return Score(name=name, value=one.difference, interval=one.interval, n=one.n) if one else None

    scores = {f"{style.label(run)}, points": [score(run, name) for name in rows] for run in compared}
    return panels(scores, [TITLES[name].removesuffix(", %") for name in rows], title, caption, zero=True)


def planted(found: Planted, caption: str) -> Figure:
    """Faults planted for an auditor: a panel a figure, a row a stage."""
    scores = {f"{head}, %": [of[name] for of in found.figures.values()] for name, head in COLUMNS.items()}
    return panels(scores, list(found.figures), PLANTED, caption)


def panels(
    scores: Mapping[str, Sequence[Score | None]], names: Sequence[str], title: str, caption: str, zero: bool = False
) -> Figure:
    """A panel for each heading, in it a row for each name; one without a score, or without its value, is empty. zero:
    draw a line there, from which differences are read."""
    lines = math.ceil(len(scores) / 2)
    labels = [style.label(name) for name in names]
    width = max(style.WIDTH, max(map(style.long, labels)) + 2 * PANEL + 0.15)
    figure = style.new(lines * (ROW * len(names) + 0.5) + 0.1, width)
    grid = figure.add_gridspec(lines, 2)
    for place, (heading, found) in enumerate(scores.items()):
        axes = figure.add_subplot(grid[place // 2, place % 2])
        _panel(axes, heading, found, zero)
        axes.set_yticks(range(len(names)), labels if place % 2 == 0 else [""] * len(names))
        axes.set_ylim(len(names) - 0.4, -0.6)
    style.head(figure, title, caption)
    return figure


def _panel(axes: Axes, heading: str, scores: Sequence[Score | None], zero: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    if zero:
        axes.axvline(0, color=style.PALE, lw=0.8, zorder=0)
    axes.set_title(heading, fontsize=style.SMALL, pad=3)
    axes.text(1.04, -0.75, "n", transform=axes.get_yaxis_transform(), color="#555555", style="italic")
    for row, score in enumerate(scores):
        axes.axhline(row, color=style.FAINT, lw=0.5, zorder=0)
        if score and score.value is not None:
            if score.interval:
                axes.hlines(row, *score.interval, color=style.INK, lw=1.0)
            axes.plot(score.value, row, style.MARKERS[0], color=style.INK, ms=3.5)
        n = str(score.n) if score and score.value is not None else "–"
        axes.text(1.04, row, n, transform=axes.get_yaxis_transform(), va="center_baseline", color="#555555")
    axes.xaxis.set_major_locator(MaxNLocator(3 if zero else 2, min_n_ticks=2))
    shown = [end for one in scores if one and one.value is not None for end in (one.value, *(one.interval or ()))]
    low, high = style.limits([*shown, *[0.0] * zero])
    if heading.endswith("%"):  # there is no share below 0 or over 100: room for dots, but no tick
        axes.set_xlim(low, high)
        axes.set_xticks([tick for tick in axes.get_xticks() if max(low, 0.0) <= tick <= min(high, 100.0)])
    axes.set_xlim(low, high)
    axes.tick_params(axis="y", length=0)
    style.bare(axes)
    axes.spines["left"].set_visible(False)
