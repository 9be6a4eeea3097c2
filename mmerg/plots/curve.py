"""Figures against a setting: at most so many iterations, or so many exemplars, with 95 % intervals.

MERG (arXiv 2604.18988) tells both as tables; runs that differ in nothing but the setting are joined by a line, others
have no place here, and the paper's own figures stand beside them in a lighter tone where the runs are of the corpus
that it used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from mmerg.paper.published import Published, published
from mmerg.plots import style
from mmerg.plots.scored import TITLES, Scored
from mmerg.runs.config_diff import alike_but_for
from mmerg.runs.labels import labels
from mmerg.runs.manifest import About

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Setting = Literal["max_iterations", "top_k"]
NODES: dict[Setting, str] = {"max_iterations": "system", "top_k": "sources.M"}
ROW_NODES: dict[Setting, str] = {"max_iterations": "system", "top_k": "memory"}  # where a paper's row sets it
AXES: dict[Setting, str] = {"max_iterations": "max. iterations", "top_k": "exemplars (top-k)"}
PAPER: dict[str, Any] = {"color": style.PALE, "ls": "--", "marker": "s", "mfc": "white", "ms": 3, "lw": 0.8}


@dataclass(frozen=True)
class Point:
    """A figure at one value of the setting; interval: its ends, None where there is none."""

    x: int
    value: float
    interval: tuple[float, float] | None
    n: int | None


@dataclass
class Series:
    """Runs that differ in the setting alone; points by metric, in ascending order of x."""

    name: str
    points: dict[str, list[Point]] = field(default_factory=dict)
    runs: list[Scored] = field(default_factory=list)


def setting_of(about: About, setting: Setting) -> int | None:
    """The value of a run's setting; None where its system or memory has no such setting."""
    value = about.manifest.setting(f"{NODES[setting]}.{setting}")
    return value if type(value) is int else None


def series(runs: Sequence[Scored], setting: Setting, called: Mapping[str, str] | None = None) -> list[Series]:
    """The runs that have the setting, grouped, each group named by what tells it from the others; called: as the user
    calls a run, by its name."""
    groups: dict[str, list[tuple[int, Scored]]] = {}
    bare: dict[str, list[tuple[int, Scored]]] = {}  # without exemplars, what sets the memory apart is idle
    alike: dict[str, str] = {}  # of each group, its key without the memory
    for run in runs:
        x = setting_of(run.about, setting)
        if x is None:
            continue
        without = alike_but_for(run.about.manifest, f"{NODES[setting]}.{setting}", "sources", "dataset.memory")
        if setting == "top_k" and x == 0:
            bare.setdefault(without, []).append((x, run))
        else:
            key = alike_but_for(run.about.manifest, f"{NODES[setting]}.{setting}")
            groups.setdefault(key, []).append((x, run))
            alike[key] = without
    for key, without in alike.items():
        groups[key] += bare.get(without, [])
    groups |= {without: group for without, group in bare.items() if without not in alike.values()}
    found = []
    for name, group in zip(labels([group[0][1].about for group in groups.values()]), groups.values(), strict=True):
        made = Series((called or {}).get(group[0][1].about.run, name))
        for x, run in sorted(group, key=lambda pair: (pair[0], pair[1].about.run)):
            made.runs.append(run)
            for metric in TITLES:
                if known := run.score(metric):
                    value, score = known
                    made.points.setdefault(metric, []).append(Point(x, value, score.interval, score.n))
        found.append(made)
    return found


def curves(runs: Sequence[Scored], setting: Setting, called: Mapping[str, str] | None = None) -> list[Series]:
    """Series with several values of the setting: one alone is no course, beside others it would look like one."""
    found = series(runs, setting, called)
    return [one for one in found if len({setting_of(run.about, setting) for run in one.runs}) > 1]


def of_paper(runs: Sequence[Scored], setting: Setting) -> tuple[Series, str] | None:
    """The paper's figures, with what a reader must know of them, where a run is of its corpus."""
    [table] = published("iterations" if setting == "max_iterations" else "topk")
    if table.dataset not in {run.about.manifest.corpus.name for run in runs}:
        return None
    made = Series("paper")
    for row in table.rows:
        x = _alone(row, setting)
        for metric, value in zip(table.columns, row.figures, strict=True):
            if x is not None and metric in TITLES and value is not None:
                made.points.setdefault(metric, []).append(Point(x, value, None, row.n))
    sure = ", ".join(row.name for row in table.rows if row.sure and _alone(row, setting) is not None)
    unsure = any(not row.sure for row in table.rows)
    return made, f"paper: {table.source}" + f" (of its rows only {sure} is sure)" * unsure


def _alone(row: Published, setting: Setting) -> int | None:
    """The value of the setting where it is all that a row sets."""
    node = (row.fits or {}).get(ROW_NODES[setting], {})
    return node[setting] if list(node) == [setting] else None


def draw(
    found: Sequence[Series], metrics: Sequence[str], setting: Setting, caption: str, paper: Series | None
) -> Figure:
    """The figure: a panel a metric, a marker a series, moved aside so that the intervals of several do not hide each
    other."""
    from matplotlib.ticker import MaxNLocator

    every = [*found, *([paper] if paper else [])]
    values = [point.x for one in every for points in one.points.values() for point in points]
    lines = math.ceil(len(metrics) / 2)
    above = style.LINE * len(every)
    figure = style.new(lines * 1.35 + above + 0.2)
    grid = figure.add_gridspec(1 + lines, 2, height_ratios=[above, *[0.9] * lines])
    told = figure.add_subplot(grid[0, :])
    spread = min(0.12, 0.5 / max(1, len(found)))
    for place, metric in enumerate(metrics):
        axes = figure.add_subplot(grid[1 + place // 2, place % 2])
        ends: list[float] = []
        for number, one in enumerate(every):
            look = PAPER if one is paper else _look(number)
            shift = 0.0 if one is paper else spread * (number - (len(found) - 1) / 2)
            points = one.points.get(metric, [])
            axes.plot([p.x + shift for p in points], [p.value for p in points], label=_told(one), **look)
            for point in points:
                if point.interval:
                    axes.vlines(point.x + shift, *point.interval, color=look["color"], lw=1.0)
                ends += (point.value, *(point.interval or ()))
        axes.set_title(TITLES[metric], fontsize=style.SMALL, pad=3)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        if place + 2 >= len(metrics):
            axes.set_xlabel(AXES[setting])
        axes.set_xlim(style.limits(values))
        axes.set_ylim(style.limits(ends))
        style.bare(axes)
    style.legend(told, axes)
    style.head(figure, f"Figures against {AXES[setting]}, with 95 % intervals", caption)
    return figure


def _look(number: int) -> dict[str, Any]:
    color = (style.INK, "#1f5fa8", "#b3541e", "#4d7f3a", "#7a5195")[number % 5]
    return {"color": color, "marker": style.MARKERS[number % len(style.MARKERS)], "ms": 3.5, "lw": 0.8}


def _told(one: Series) -> str:
    """A series with its n: one number where all points share it."""
    ns = sorted({point.n for points in one.points.values() for point in points if point.n is not None})
    told = f"{ns[0]}" if len(ns) == 1 else f"{ns[0]} to {ns[-1]}" if ns else "?"
    return f"{style.label(one.name)}, n={told}"
