"""A plot of the agent that the auditor blames in each pass: the earliest stage whose check failed, if any.

In MERG (arXiv 2604.18988, section 3), the earliest failed agent a* is the source of error.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mmerg.console.terminal import printable
from mmerg.plots import style
from mmerg.plots.run_data import RunData, describe_runs
from mmerg.runs.manifest import RunRef
from mmerg.runs.trace import SampleTrace

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Verdict: TypeAlias = tuple[int, str]  # a pass, and the blamed stage or one of the constants below
TITLE = "The earliest agent whose check failed, by pass"
PASSED, UNAUDITED, UNFINISHED = "passed all", "unaudited", "not finished"
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo")


def count_blame(ref: RunRef, verdicts: Iterable[Verdict]) -> DataFrame:
    """Counts the samples of a run: a row per verdict (the stages in order, then the constants), a column per pass."""
    from pandas import DataFrame

    counts = Counter(verdicts)
    occurring = dict.fromkeys(verdict for _, verdict in counts)
    last = [PASSED, *(verdict for verdict in (UNAUDITED, UNFINISHED) if verdict in occurring)]
    named = dict.fromkeys((*ref.manifest.setting("system.stages", ()), *occurring))
    stages = [verdict for verdict in named if verdict not in last]
    passes = range(1 + max((t for t, _ in counts), default=-1))
    return DataFrame({t: {verdict: counts[t, verdict] for verdict in (*stages, *last)} for t in passes})


def count_audits(blame: DataFrame) -> list[int]:
    return [int(count) for count in blame.drop([UNAUDITED, UNFINISHED], errors="ignore").sum()]


def list_blamed_agents(blame: DataFrame) -> list[str]:
    return list(blame.index[blame.any(axis=1)].difference([PASSED, UNAUDITED, UNFINISHED], sort=False))


def iterate_verdicts(trace: SampleTrace) -> Iterator[Verdict]:
    """Yields the verdict on each pass of a sample. A pass that failed before its audit is UNFINISHED."""
    next_pass = 0
    for t, pass_ in trace.passes.items():
        if pass_.audited:
            next_pass = t + 1
            yield t, printable(pass_.audited.fault or PASSED)
        elif pass_.unaudited or pass_.lost:
            yield t, UNAUDITED if pass_.unaudited else UNFINISHED
            return
    if trace.failed:
        yield next_pass, UNFINISHED


def draw_blame(blame: DataFrame, run: RunData) -> Figure:
    """Draws a group of bars for each verdict, with a bar per pass. The length of a bar is the share of the samples in
    the pass, and the number beside it the count."""
    from matplotlib.ticker import PercentFormatter

    passes, rows = len(blame.columns), np.arange(len(blame))
    above, below = passes * style.LINE, len(rows) * (passes * 0.115 + 0.08)
    labels = list(map(style.fit_label, blame.index))
    figure = style.new_figure(above + below + 0.6, max(style.WIDTH, max(map(style.text_width, labels)) + 2.0))
    legend, axes = figure.subplots(2, 1, height_ratios=[above, below])
    step = 1 / (passes + 0.7)
    for t, audited in enumerate(count_audits(blame)):
        counts = blame[t].to_numpy()
        bars = axes.barh(
            rows + (t - (passes - 1) / 2) * step,
            100 * counts / counts.sum(),
            height=step * 0.92,
            color=str(0.45 + 0.5 * t / max(1, passes - 1)),  # from dark to light over the passes
            edgecolor=style.INK,
            linewidth=0.5,
            hatch=HATCHES[t % len(HATCHES)],
            label=f"pass {t}: {audited} of {counts.sum()} audited",
        )
        axes.bar_label(bars, list(map(str, counts)), padding=2)
    axes.set_yticks(rows, labels)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    last_tick = 25 * math.ceil(axes.dataLim.xmax / 25)
    axes.set_xlim(0, 1.12 * last_tick)  # leaves room for the count of the longest bar
    axes.set_xticks(range(0, last_tick + 1, 25))
    axes.xaxis.set_major_formatter(PercentFormatter(decimals=0, symbol=" %"))
    axes.set_xlabel("of the samples in the pass")
    axes.tick_params(axis="y", length=0)
    legend.axis("off")
    legend.legend(handles=axes.get_legend_handles_labels()[0], loc="upper left")
    style.add_texts(figure, TITLE, describe_runs([run]))
    return figure
