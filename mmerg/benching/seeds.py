"""Rows that differ in their seed alone, as one mean with its standard deviation; never over rows of different engines.

The standard deviation says how much the sampler's luck moves a figure; the interval beside each row says how much the
choice of samples does.

    means(rows)[0].figures["acc"].sd
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

from mmerg.benching.rows import Mean, Row, Spread
from mmerg.benching.speed import FIGURES


def means(rows: Sequence[Row]) -> tuple[Mean, ...]:
    """A mean for each backbone, engine and protocol that has rows of several seeds, in the order of the rows."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.backbone, row.engine.model_dump_json(), row.protocol), []).append(row)
    return tuple(_mean(group) for group in groups.values() if len({row.seed for row in group}) == len(group) > 1)


def _mean(rows: Sequence[Row]) -> Mean:
    columns = dict.fromkeys(column for row in rows for column in row.scores)
    values: dict[str, list[float | None]] = {
        **{column: [score.value if (score := row.scores.get(column)) else None for row in rows] for column in columns},
        **{name: [figure(row.speed) for row in rows] for name, figure in FIGURES.items()},
    }
    figures: dict[str, Spread] = {}
    uneven = []
    for name, found in values.items():
        had = [value for value in found if value is not None]
        if len(had) == len(rows) and (name in FIGURES or _alike(rows, name)):
            figures[name] = Spread(mean=fmean(had), sd=stdev(had))
        elif had:
            uneven.append(name)
    return Mean(
        backbone=rows[0].backbone,
        mark=rows[0].engine.mark,
        seeds=tuple(row.seed for row in rows),
        figures=figures,
        uneven=tuple(uneven),
    )


def _alike(rows: Sequence[Row], column: str) -> bool:
    """Whether all rows have it over as many samples and measured in one way."""
    return len({(row.scores[column].n, row.scores[column].signature) for row in rows}) == 1
