"""Rows that differ in their seed alone, as one mean with its standard deviation; never over rows of different engines.

means(rows)[0].figures["acc"].sd
"""

from __future__ import annotations

from collections.abc import Sequence

from mmerg.benching.rows import Mean, Row
from mmerg.benching.speed import FIGURES, Figure
from mmerg.scoring.spread import Spread, one_a_seed, over, spread_of


def means(rows: Sequence[Row]) -> tuple[Mean, ...]:
    """A mean for each backbone, engine and protocol that has rows of several seeds, in the order of the rows."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.backbone, row.engine.model_dump_json(), row.protocol), []).append(row)
    taken = [one_a_seed(group, lambda row: row.seed) for group in groups.values()]
    return tuple(_mean(group) for group in taken if len(group) > 1)


def _mean(rows: Sequence[Row]) -> Mean:
    columns = dict.fromkeys(column for row in rows for column in row.scores)
    found = {column: over([row.scores.get(column) for row in rows]) for column in columns}
    found |= {name: _of_speed(rows, figure) for name, figure in FIGURES.items()}
    return Mean(
        backbone=rows[0].backbone,
        mark=rows[0].engine.mark,
        seeds=tuple(row.seed for row in rows),
        figures={name: spread for name, spread in found.items() if spread},
        uneven=tuple(name for name in found if not found[name] and any(_has(row, name) for row in rows)),
    )


def _of_speed(rows: Sequence[Row], figure: Figure) -> Spread | None:
    """Seconds over as many samples in all rows; a rate of tokens is each row's own, however many calls it made."""
    counts = [row.speed.seconds.n for row in rows if row.speed.seconds] if figure.seconds else []
    return spread_of([figure.of(row.speed) for row in rows], counts)


def _has(row: Row, name: str) -> bool:
    if name in FIGURES:
        return FIGURES[name].of(row.speed) is not None
    return name in row.scores and row.scores[name].value is not None
