"""Scores against a setting, with 95 % intervals: runs that differ in nothing but the setting are joined by a line."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from mmerg.plots import style
from mmerg.plots.run_data import TITLES, RunData, caption, plotted_metrics
from mmerg.runs.config_diff import alike_but_for, config_diff, labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Setting = Literal["max_iterations", "top_k"]
PATHS: dict[Setting, str] = {"max_iterations": "system.max_iterations", "top_k": "sources.M.top_k"}
AXES: dict[Setting, str] = {"max_iterations": "max. iterations", "top_k": "exemplars (top-k)"}
MEMORY = ("sources", "dataset.memory")
COLORS, MARKERS = (style.INK, "#1f5fa8", "#b3541e", "#4d7f3a", "#7a5195"), "osD^vP*X<>hd"
FEW = 4  # settings that are named


def draw_curves(runs: Sequence[RunData], setting: Setting, labelled: bool = False) -> "tuple[Figure | None, str]":
    """The figure and the runs it leaves out, or None and why there is none. labelled: the labels are the user's."""
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
    outside = ", ".join(run.about.run for run in runs if run not in inside)
    why = f"without {outside}: no other run differs in {path} alone" if outside else ""
    return _draw(dict(zip(names, groups, strict=True)), metrics, setting), why


def describe_unscored(runs: Sequence[RunData]) -> str:
    """Why none of these runs has a score to draw."""
    return "; ".join(f"{run.about.run}: {run.unscored}" for run in runs if run.unscored) or "no run has a figure"


def _value(run: RunData, setting: Setting) -> int | None:
    value = run.about.manifest.setting(PATHS[setting])
    return value if type(value) is int else None


def group_runs(runs: Sequence[RunData], setting: Setting) -> list[list[RunData]]:
    """Groups of runs that differ in the setting alone, sorted by it. A run without exemplars belongs to every group
    that differs from it in the memory alone, as it uses no memory."""
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


def _draw(groups: dict[str, list[RunData]], metrics: Sequence[str], setting: Setting) -> "Figure":
    """A panel for each metric, a marker for each group, moved aside so that intervals do not hide each other."""
    from matplotlib.ticker import MaxNLocator

    rows, above = math.ceil(len(metrics) / 2), style.LINE * len(groups)
    figure = style.new_figure(rows * 1.35 + above + 0.2)
    grid = figure.add_gridspec(1 + rows, 2, height_ratios=[above, *[0.9] * rows])
    legend = figure.add_subplot(grid[0, :])
    gap, middle = min(0.12, 0.5 / len(groups)), (len(groups) - 1) / 2
    for place, metric in enumerate(metrics):
        axes = figure.add_subplot(grid[1 + place // 2, place % 2])
        for at, (name, group) in enumerate(groups.items()):
            shift = gap * (at - middle)
            points = [
                ((_value(run, setting) or 0) + shift, score.value, *(score.interval or (score.value, score.value)))
                for run in group
                if (score := run.score(metric)) and score.value is not None
            ]
            x, values, low, high = zip(*points, strict=True) if points else ((), (), (), ())
            n = sorted({score.n for run in group for one in metrics if (score := run.score(one))})
            label = style.label(name) + (f", n={n[0] if len(n) == 1 else f'{n[0]} to {n[-1]}'}" if n else "")
            color, marker = COLORS[at % len(COLORS)], MARKERS[at % len(MARKERS)]
            axes.plot(x, values, label=label, lw=0.8, ms=3.5, color=color, marker=marker)
            axes.vlines(x, low, high, color=color, lw=1.0)
        axes.set_title(TITLES[metric])
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.margins(0.12)
        if place + 2 >= len(metrics):
            axes.set_xlabel(AXES[setting])
    style.add_legend(legend, axes)
    title = f"Figures against {AXES[setting]}, with 95 % intervals"
    style.add_texts(figure, title, caption([run for group in groups.values() for run in group]))
    return figure
