"""Runs that differ in their seed alone, as one line: mean and spread of each figure over the seeds."""

from __future__ import annotations

from collections.abc import Sequence

from mmerg.papertables.line import Cell, Line
from mmerg.papertables.ours import Placed
from mmerg.scoring.spread import one_a_seed, over


def over_seeds(columns: Sequence[str], runs: Sequence[Placed], row: str) -> list[Line]:
    """A line for each setting that was run to its end with several seeds. It fits the row as its runs do: what they
    differ in from the paper's, it does, too."""
    groups: dict[str, list[Placed]] = {}
    for one in runs:
        groups.setdefault(one.run.but_for_seed, []).append(one)
    return [line for group in groups.values() if (line := _line(columns, group, row))]


def _line(columns: Sequence[str], group: Sequence[Placed], row: str) -> Line | None:
    taken = one_a_seed((one for one in group if not one.run.scores.unfinished), lambda one: one.run.seed)
    if len(taken) < 2:
        return None
    passed_over = ", ".join(str(one.number) for one in group if one not in taken)
    notes = (
        taken[0].note(columns),
        f"not in it, being unfinished or of a seed that is: {passed_over}" * bool(passed_over),
    )
    return Line(
        f"mean of runs {', '.join(str(one.number) for one in taken)}",
        "seeds",
        row,
        tuple(_cell(taken, column) for column in columns),
        note="; ".join(filter(None, notes)),
        fits=taken[0].fits,
    )


def _cell(runs: Sequence[Placed], column: str) -> Cell:
    """The mean of a figure that all runs have, over as many samples and measured in one way; else none."""
    scores = [one.run.score(column) for one in runs]
    spread = over(scores)
    if spread is None:
        return Cell()
    signature = next(score.signature for score in scores if score)
    return Cell(spread.mean, n=len(runs), method="mean over seeds", signature=signature, spread=spread.sd)
