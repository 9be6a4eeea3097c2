"""Scores against a setting, with 95 % intervals. Runs that differ in nothing but the setting are joined by a line; the
values of MERG's paper (arXiv 2604.18988) stand beside runs of its corpus."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mmerg.paper.published import Name, published
from mmerg.plots import style
from mmerg.plots.run_data import TITLES, RunData, caption, plotted_metrics
from mmerg.runs.config_diff import alike_but_for, config_diff
from mmerg.runs.labels import labels
from mmerg.scoring.score import Score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Setting = Literal["max_iterations", "top_k"]
PATHS: dict[Setting, str] = {"max_iterations": "system.max_iterations", "top_k": "sources.M.top_k"}
PAPER: dict[Setting, tuple[Name, str]] = {"max_iterations": ("iterations", "system"), "top_k": ("topk", "memory")}
AXES: dict[Setting, str] = {"max_iterations": "max. iterations", "top_k": "exemplars (top-k)"}
MEMORY = ("sources", "dataset.memory")
COLORS, MARKERS = (style.INK, "#1f5fa8", "#b3541e", "#4d7f3a", "#7a5195"), "osD^vP*X<>hd"
FEW = 4  # settings that are named


class Point(NamedTuple):
    """The scores of a run, or of a row of the paper, at one value of the setting."""

    x: int
    scores: Mapping[str, Score]


def draw_curves(runs: Sequence[RunData], setting: Setting, labelled: bool = False) -> tuple[Figure | None, str]:
    """The figure, and which runs it lacks; or None, and why. labelled: the user gave the runs their labels."""
    path = PATHS[setting]
    if len({_value(run, setting) for run in runs} - {None}) < 2:
        return None, f"it takes runs that differ in {setting}"
    groups = group_runs(runs, setting)
    inside = [run for run in runs if any(run in group for group in groups)]
    metrics = plotted_metrics(inside)
    if not groups:
        names = [one.name for one in config_diff([run.about.manifest for run in runs])]
        names = [name for name in names if name not in (path, "commit")]
        few = ", ".join([*names[:FEW], *[f"{len(names) - FEW} more"] * (len(names) > FEW)])
        return None, f"no two runs differ in {path} alone" + f"; they differ in {few}, too" * bool(names)
    if not metrics:
        return None, describe_unscored(inside)
    names = [group[0].label for group in groups] if labelled else labels([group[0].about for group in groups])
    series = {
        name: [Point(_value(run, setting) or 0, run.scores.scores if run.scores else {}) for run in group]
        for name, group in zip(names, groups, strict=True)
    }
    paper, source = paper_points(inside, setting)
    outside = ", ".join(run.about.run for run in runs if run not in inside)
    why = f"without {outside}: no other run differs in {path} alone" if outside else ""
    return draw_series(series, paper, metrics, setting, " · ".join(filter(None, (caption(inside), source)))), why


def describe_unscored(runs: Sequence[RunData]) -> str:
    """Why none of these runs has a score to draw."""
    return "; ".join(f"{run.about.run}: {run.unscored}" for run in runs if run.unscored) or "no run has a figure"


def _value(run: RunData, setting: Setting) -> int | None:
    value = run.about.manifest.setting(PATHS[setting])
    return value if type(value) is int else None


def group_runs(runs: Sequence[RunData], setting: Setting) -> list[list[RunData]]:
    """Runs that differ in the setting alone, at least in two values of it, by these values. A run without exemplars
    belongs to all runs that differ from it in their memory alone, as it uses none."""
    known = sorted((x, run.about.run, run) for run in runs if (x := _value(run, setting)) is not None)
    groups: dict[str, list[RunData]] = {}
    idle: list[RunData] = []
    for x, _, run in known:
        alike = alike_but_for(run.about.manifest, PATHS[setting])
        (idle if setting == "top_k" and x == 0 else groups.setdefault(alike, [])).append(run)
    for group in groups.values():
        alike, *others = (alike_but_for(run.about.manifest, PATHS[setting], *MEMORY) for run in (group[0], *idle))
        group[:0] = [run for run, other in zip(idle, others, strict=True) if other == alike]
    return [group for group in groups.values() if len({_value(run, setting) for run in group}) > 1]


def paper_points(runs: Sequence[RunData], setting: Setting) -> tuple[list[Point], str]:
    """The rows of the paper's table that set the setting alone, and their source, where a run is of its corpus."""
    name, node = PAPER[setting]
    [table] = published(name)
    if table.dataset not in {run.about.manifest.corpus.name for run in runs}:
        return [], ""
    rows = [(fits[setting], row) for row in table.rows if list(fits := (row.fits or {}).get(node, {})) == [setting]]
    points = [
        Point(x, {m: Score(name=m, value=v, n=row.n or 0) for m, v in zip(table.columns, row.figures, strict=True)})
        for x, row in rows
    ]
    sure = ", ".join(row.name for _, row in rows if row.sure)
    doubt = f" (of its rows only {sure} is sure)" * any(not row.sure for row in table.rows)
    return points, f"paper: {table.source}{doubt}"


def draw_series(
    series: Mapping[str, Sequence[Point]],
    paper: Sequence[Point],
    metrics: Sequence[str],
    setting: Setting,
    caption: str,
) -> Figure:
    """A panel for each metric, a marker for each series, moved aside so that intervals do not hide each other."""
    from matplotlib.ticker import MaxNLocator

    gap, middle = min(0.12, 0.5 / len(series)), (len(series) - 1) / 2
    lines: list[tuple[str, Sequence[Point], float, dict[str, Any]]] = [
        (name, points, gap * (at - middle), {"color": COLORS[at % len(COLORS)], "marker": MARKERS[at % len(MARKERS)]})
        for at, (name, points) in enumerate(series.items())
    ]
    if paper:
        lines.append(("paper", paper, 0.0, {"color": style.PALE, "ls": "--", "marker": "s", "mfc": "white"}))
    rows, above = math.ceil(len(metrics) / 2), style.LINE * len(lines)
    figure = style.new_figure(rows * 1.35 + above + 0.2)
    grid = figure.add_gridspec(1 + rows, 2, height_ratios=[above, *[0.9] * rows])
    legend = figure.add_subplot(grid[0, :])
    for place, metric in enumerate(metrics):
        axes = figure.add_subplot(grid[1 + place // 2, place % 2])
        for name, points, shift, look in lines:
            scores = {p.x + shift: p.scores[metric] for p in points if metric in p.scores}
            values = [one.value if one.value is not None else math.nan for one in scores.values()]
            axes.plot(list(scores), values, label=_describe(name, points), lw=0.8, ms=3.5, **look)
            for x, one in scores.items():
                axes.vlines(x, *(one.interval or (math.nan, math.nan)), color=look["color"], lw=1.0)
        axes.set_title(TITLES[metric])
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.margins(0.12)
        if place + 2 >= len(metrics):
            axes.set_xlabel(AXES[setting])
    style.add_legend(legend, axes)
    style.add_texts(figure, f"Figures against {AXES[setting]}, with 95 % intervals", caption)
    return figure


def _describe(name: str, points: Sequence[Point]) -> str:
    """A series with its n: one number where all points share it."""
    n = sorted({one.n for point in points for one in point.scores.values()} - {0})
    return f"{style.label(name)}, n={n[0] if len(n) == 1 else f'{n[0]} to {n[-1]}'}" if n else style.label(name)
