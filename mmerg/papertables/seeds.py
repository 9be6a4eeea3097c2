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
    """A line for each setting that was run to its end with several seeds. runs: with the numbers they stand under."""
    groups: dict[str, list[tuple[int, Ours]]] = {}
    for number, run in runs:
        groups.setdefault(run.but_for_seed, []).append((number, run))
    return [_line(columns, group, row) for group in groups.values() if len(_one_a_seed(group)) > 1]


def _one_a_seed(group: Sequence[tuple[int, Ours]]) -> list[tuple[int, Ours]]:
    """The first finished run of each seed."""
    found: dict[int, tuple[int, Ours]] = {}
    for number, run in group:
        if not run.scores.unfinished:
            found.setdefault(run.seed, (number, run))
    return list(found.values())


def _line(columns: Sequence[str], group: Sequence[tuple[int, Ours]], row: str) -> Line:
    taken = _one_a_seed(group)
    cells = tuple(_cell([run for _, run in taken], column) for column in columns)
    passed_over = [str(number) for number, run in group if (number, run) not in taken]
    note = f"not in it, being unfinished or of a seed that is: {', '.join(passed_over)}" if passed_over else ""
    numbers = ", ".join(str(number) for number, _ in taken)
    return Line(f"mean of runs {numbers}", "seeds", row, cells, note=note)


def _cell(runs: Sequence[Ours], column: str) -> Cell:
    """The mean of a figure that all runs have, over as many samples and measured in one way; else none."""
    scores = [score for run in runs if (score := run.score(column))]
    values = [score.value for score in scores if score.value is not None]
    if len(values) < len(runs) or len({(score.n, score.signature) for score in scores}) > 1:
        return Cell()
    return Cell(
        fmean(values), n=len(values), method="mean over seeds", signature=scores[0].signature, spread=stdev(values)
    )
