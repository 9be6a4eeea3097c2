"""A bench as tables of plain text, for a terminal and for Markdown: quality, speed, samples and calls, models.

Nothing is left out in silence: a "–" has its reason in `notes`.

    for sheet in sheets(bench):
        sheet.title, sheet.heads, sheet.lines
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mmerg.benching.measure import COLUMNS
from mmerg.benching.rows import Bench, Mean, Row
from mmerg.benching.speed import FIGURES
from mmerg.scoring.score import Score
from mmerg.scoring.shown import figure
from mmerg.scoring.spread import Spread

NONE = "–"
DOWN = ("self_ppl", "ref_ppl")  # less is better


@dataclass(frozen=True)
class Sheet:
    """A table. Heads and cells may have several lines; words: the columns that are text, by number, all else is
    figures."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)


def sheets(bench: Bench) -> list[Sheet]:
    """The tables of a bench with rows; last the backbones that did not run, or not with all seeds."""
    found = [_quality(bench), _speed(bench), _samples(bench), _models(bench)] if bench.rows else []
    if bench.skipped:
        lines = tuple((skipped.name, skipped.why, skipped.next) for skipped in bench.skipped)
        found.append(Sheet("left out", ("backbone", "why", "next"), lines, (0, 1, 2)))
    return found


def _name(row: Row) -> str:
    return f"{row.name} ({row.engine.mark})"


def _grouped(bench: Bench) -> Iterator[tuple[list[Row], list[Mean]]]:
    """The rows of each backbone, in order, and the means over them."""
    for backbone in dict.fromkeys(row.backbone for row in bench.rows):
        rows = [row for row in bench.rows if row.backbone == backbone]
        yield rows, [mean for mean in bench.means if mean.backbone == backbone]


def _quality(bench: Bench) -> Sheet:
    columns = [c for c in COLUMNS if any(c in row.scores or c in row.paper for row in bench.rows)]
    lines: list[tuple[str, ...]] = []
    for rows, means in _grouped(bench):
        for row in rows:
            lines.append((_name(row), *(_score(row.scores.get(column)) for column in columns)))
        for mean in means:
            lines.append((_mean_name(mean), *(_spread(mean.figures.get(column)) for column in columns)))
        if paper := rows[0].paper:
            printed = (f"{paper[column]:.2f}" if column in paper else NONE for column in columns)
            of = rows[0].paper_of
            lines.append((f"  the paper's ({of})" if of else "  the paper's", *printed))
    heads = (f"{column} {'↓' if column in DOWN else '↑'}" for column in columns)
    return Sheet("quality, with 95 % intervals", ("backbone", *heads), tuple(lines))


def _score(score: Score | None) -> str:
    """A figure with its interval and n."""
    if score is None:
        return NONE
    between = [f"{figure(score.interval[0])}–{figure(score.interval[1])}"] if score.interval else []
    return "\n".join((NONE if score.value is None else figure(score.value), *between, f"n={score.n}"))


def _mean_name(mean: Mean) -> str:
    return f"  mean of {len(mean.seeds)} ({mean.mark})"


def _spread(spread: Spread | None) -> str:
    return f"{figure(spread.mean)}\nsd {figure(spread.sd)}" if spread else NONE


def _speed(bench: Bench) -> Sheet:
    median, p95, *rates = (one.head for one in FIGURES.values())
    heads = ("backbone", median, p95, "samples\ntimed", *rates, "calls\ntimed")
    lines: list[tuple[str, ...]] = []
    for rows, means in _grouped(bench):
        for row in rows:
            median, p95, *rates = (
                NONE if (value := one.of(row.speed)) is None else figure(value) for one in FIGURES.values()
            )
            timed = f"{row.speed.seconds.n if row.speed.seconds else 0} of {row.samples}"
            lines.append((_name(row), median, p95, timed, *rates, f"{row.speed.calls} of {row.calls}"))
        for mean in means:
            median, p95, *rates = (_spread(mean.figures.get(name)) for name in FIGURES)
            lines.append((_mean_name(mean), median, p95, "", *rates, ""))
    return Sheet("speed, of what the reply cache did not serve", heads, tuple(lines))


def _samples(bench: Bench) -> Sheet:
    heads = ("backbone", "samples", "failed", "by class", "unaudited", "calls", "of them\ncached")
    lines = []
    for row in bench.rows:
        failures = "\n".join(f"{count} {failure}" for failure, count in row.failures.items())
        counts = map(str, (row.samples, row.failed, failures, row.unaudited, row.calls, row.cached_calls))
        lines.append((_name(row), *counts))
    return Sheet("samples and calls", heads, tuple(lines), (0, 3))


def _models(bench: Bench) -> Sheet:
    heads = ("backbone", "model", "digest", "memory", "on the\nCPU", "context")
    lines = []
    for row in bench.rows:
        context = str((row.memory and row.memory.context) or row.engine.num_ctx or NONE)
        lines.append((_name(row), row.engine.model, row.engine.digest[:12] or NONE, *_memory(row), context))
    return Sheet("models as loaded", heads, tuple(lines), (0, 1, 2))


def _memory(row: Row) -> tuple[str, str]:
    if row.memory is None:
        return NONE, NONE
    size, on_gpu = row.memory.size, row.memory.on_gpu
    spill = NONE if on_gpu is None or not size else f"{100 * (1 - min(on_gpu, size) / size):.0f} %"
    return f"{size / 2**30:.2f} GiB", spill
