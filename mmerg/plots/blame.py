"""Which agent the auditor blames: of each pass, the earliest stage whose check failed, or that all passed.

MERG, arXiv 2604.18988, section 3: the earliest failed agent a* is the source of error. Reads one sample's
events at a time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mmerg.plots import style
from mmerg.runs import events
from mmerg.runs.samples import read_events

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Verdict: TypeAlias = tuple[int, str, tuple[str, ...]]  # a pass, what was said of it, the stages that were looked at
TITLE = "The earliest agent whose check failed, by pass"
PASSED, UNAUDITED, UNFINISHED = "passed all", "unaudited", "not finished"


@dataclass(frozen=True)
class Blame:
    """counts: by pass and verdict (a stage's name, or one of the three above). verdicts: in the order to draw them."""

    verdicts: tuple[str, ...]
    passes: tuple[dict[str, int], ...]

    def n(self, t: int) -> int:
        """Samples that began pass t."""
        return sum(self.passes[t].values())

    @property
    def audits(self) -> int:
        """Passes that have an audit."""
        return sum(self.audited(t) for t in range(len(self.passes)))

    def audited(self, t: int) -> int:
        """Samples whose pass t has an audit."""
        return self.n(t) - self.passes[t].get(UNAUDITED, 0) - self.passes[t].get(UNFINISHED, 0)


def read(run: Path, samples: Iterable[str], stages: Sequence[str] = ()) -> Blame:
    """The verdicts on the passes of `samples` of a run folder. Raises RunError where events cannot be read."""
    return count((one for sample in samples for one in verdicts(read_events(run, sample))), stages)


def count(found: Iterable[Verdict], stages: Sequence[str] = ()) -> Blame:
    """The verdicts on passes, counted. stages: in the order in which they run."""
    counts: Counter[tuple[int, str]] = Counter()
    order: dict[str, None] = dict.fromkeys(stages)
    for t, verdict, audited in found:
        counts[t, verdict] += 1
        order |= dict.fromkeys(audited)
    given = {verdict for _, verdict in counts}
    every = (*order, PASSED, *(verdict for verdict in (UNAUDITED, UNFINISHED) if verdict in given))
    passes = range(1 + max((t for t, _ in counts), default=-1))
    return Blame(every, tuple({verdict: counts[t, verdict] for verdict in every} for t in passes))


def verdicts(told: Iterable[events.Event]) -> Iterator[Verdict]:
    """Pass, verdict, and the stages that were audited. A sample without an auditor, or that failed before a pass could
    be audited, has none or one that was not finished."""
    decided = -1
    for event in told:
        if isinstance(event, events.Audited):
            decided = event.t
            yield event.t, event.fault or PASSED, tuple(event.audit.findings)
        elif isinstance(event, events.Unaudited):
            yield event.t, UNAUDITED, ()
            return
        elif isinstance(event, events.PassLost):
            yield event.t, UNFINISHED, ()
            return
        elif isinstance(event, events.SampleFailed):
            yield decided + 1, UNFINISHED, ()


def draw(blame: Blame, caption: str) -> Figure:
    """Bars grouped by verdict, a bar a pass: its length is the share of the samples that began the pass, its number
    how many these are."""
    from matplotlib.ticker import PercentFormatter

    passes, rows = len(blame.passes), np.arange(len(blame.verdicts))
    above, below = passes * style.LINE, len(rows) * (passes * 0.115 + 0.08)
    figure = style.new(above + below + 0.6)
    told, axes = figure.subplots(2, 1, height_ratios=[above, below])
    step = 1 / (passes + 0.7)
    for t, counts in enumerate(blame.passes):
        bars = axes.barh(
            rows + (t - (passes - 1) / 2) * step,
            [100 * counts[verdict] / blame.n(t) for verdict in blame.verdicts],
            height=step * 0.92,
            color=str(0.45 + 0.5 * t / max(1, passes - 1)),  # from dark to light as passes go on
            edgecolor=style.INK,
            linewidth=0.5,
            hatch=style.HATCHES[t % len(style.HATCHES)],
            label=f"pass {t}: {blame.audited(t)} of {blame.n(t)} audited",
        )
        axes.bar_label(bars, [str(counts[verdict]) for verdict in blame.verdicts], padding=2)
    axes.set_yticks(rows, [style.label(verdict) for verdict in blame.verdicts])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    most = 25 * math.ceil(axes.dataLim.xmax / 25)
    axes.set_xlim(0, 1.12 * most)  # with room for the count of the longest bar
    axes.set_xticks(range(0, most + 1, 25))
    axes.xaxis.set_major_formatter(PercentFormatter(decimals=0, symbol=" %"))
    axes.set_xlabel("of the samples that began the pass")
    axes.tick_params(axis="y", length=0)
    style.bare(axes)
    style.legend(told, axes)
    style.head(figure, TITLE, caption)
    return figure
