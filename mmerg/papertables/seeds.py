"""Runs that differ in their seed alone, as one line: mean and spread of each figure over the seeds.

The spread (standard deviation with n − 1) says how much the sampler's luck moves a figure; the interval over samples,
which stands beside each run, says how much the choice of samples does. Neither holds the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

from mmerg.papertables.line import Cell, Line
from mmerg.papertables.ours import Ours


def over_seeds(columns: Sequence[str], runs: Sequence[tuple[int, Ours]], row: str) -> list[Line]:
    """A line for each setting that was run with several seeds. runs: with the numbers they stand under."""
    groups: dict[str, list[tuple[int, Ours]]] = {}
    for number, run in runs:
        groups.setdefault(run.but_for_seed, []).append((number, run))
    return [_line(columns, group, row) for group in groups.values() if len({run.seed for _, run in group}) > 1]


def _line(columns: Sequence[str], group: Sequence[tuple[int, Ours]], row: str) -> Line:
    numbers = ", ".join(str(number) for number, _ in group)
    cells = tuple(_cell([run for _, run in group], column) for column in columns)
    return Line(f"mean of runs {numbers}", "seeds", row, cells)


def _cell(runs: Sequence[Ours], column: str) -> Cell:
    values = [score.value for run in runs if (score := run.score(column)) and score.value is not None]
    if len(values) < 2:
        return Cell()
    return Cell(fmean(values), n=len(values), method="mean over seeds", spread=stdev(values))
