"""A bench as one table: a row a backbone, with quality, speed, memory, and whether it could be run here.

Nothing is left out in silence: a "–" has its reason below the table.

    console.print(sheet(bench))
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from mmerg.benching.measure import COLUMNS
from mmerg.benching.notes import notes
from mmerg.benching.rows import Bench, Mean, Row
from mmerg.benching.speed import FIGURES
from mmerg.console.tables import NONE, Sheet, between, figure
from mmerg.scoring.score import Score
from mmerg.scoring.spread import Spread

DOWN = ("self_ppl", "ref_ppl")  # less is better
_MODEL = 24  # columns of a model's name, beyond which it goes on below
_HEADS = ("s/sample", "tok/s", "memory", "samples", "calls", "model")


def sheet(bench: Bench) -> Sheet:
    """The rows of each backbone, below them the paper's and means over seeds; last those that did not run."""
    columns = [c for c in COLUMNS if any(c in row.scores or c in row.paper for row in bench.rows)]
    rows: list[tuple[str, ...]] = []
    for backbone in dict.fromkeys(row.backbone for row in bench.rows):
        for row in (row for row in bench.rows if row.backbone == backbone):
            quality = (_score(row.scores.get(column)) for column in columns)
            rows.append((f"{row.name} ({row.engine.mark})", "yes", *quality, *_cost(row)))
            if row.paper:
                printed = (figure(row.paper.get(column)) for column in columns)
                rows.append((f"· the paper's ({row.paper_of})", "", *printed, *[""] * len(_HEADS)))
        rows += [_mean(mean, columns) for mean in bench.means if mean.backbone == backbone]
    rows += [(skipped.name, "no", *[NONE] * (len(columns) + len(_HEADS))) for skipped in bench.skipped]
    heads = (f"{column} {'↓' if column in DOWN else '↑'}" for column in columns)
    title = f"Bench: {bench.dataset}, {bench.asked} samples asked for"
    return Sheet(title, ("backbone", "available", *heads, *_HEADS), rows, tuple(_below(bench)))


def _below(bench: Bench) -> Iterator[str]:
    if bench.settings:
        yield f"settings: {' '.join(bench.settings)}"
    if bench.figures:
        yield f"figures: {' '.join(bench.figures)}"
    yield from (f"left out: {one.name}: {one.why}" + f"; {one.next}" * bool(one.next) for one in bench.skipped)
    yield from notes(bench)


def _score(score: Score | None) -> str:
    """A figure with its interval and n."""
    if score is None:
        return NONE
    return "\n".join((figure(score.value), *([between(*score.interval)] if score.interval else []), f"n={score.n}"))


def _cost(row: Row) -> tuple[str, ...]:
    """What stands below _HEADS."""
    seconds, speed = row.speed.seconds, row.speed
    timed = f"{figure(seconds.median)}\np95 {figure(seconds.p95)}\nof {seconds.n}" if seconds else NONE
    rates = f"{figure(speed.reply_tokens_s)}\n{figure(speed.prompt_tokens_s)} prompt"
    failures = [f"{row.failed} failed", *(f"{count} {failure}" for failure, count in row.failures.items())]
    samples = [str(row.samples), *failures, *([f"{row.unaudited} unaudited"] * bool(row.unaudited))]
    calls = f"{row.calls}\n{row.cached_calls} cached\n{speed.calls} timed"
    context = (row.memory and row.memory.context) or row.engine.num_ctx
    name = textwrap.wrap(row.engine.model, _MODEL)
    model = "\n".join((*name, row.engine.digest[:12] or NONE, f"context {context or NONE}"))
    return timed, rates, _memory(row), "\n".join(samples), calls, model


def _memory(row: Row) -> str:
    if row.memory is None:
        return NONE
    size, on_gpu = row.memory.size, row.memory.on_gpu
    spill = [] if on_gpu is None or not size else [f"{100 * (1 - min(on_gpu, size) / size):.0f} % on CPU"]
    return "\n".join((f"{size / 2**30:.2f} GiB", *spill))


def _mean(mean: Mean, columns: list[str]) -> tuple[str, ...]:
    median, p95, prompt, reply = (_spread(mean.figures.get(name)) for name in FIGURES)
    cells = (
        *(_spread(mean.figures.get(column)) for column in columns),
        f"{median}\np95 {p95}",
        f"{reply}\n{prompt} prompt",
    )
    return (f"· mean of {len(mean.seeds)} ({mean.mark})", "", *cells, *[""] * (len(_HEADS) - 2))


def _spread(spread: Spread | None) -> str:
    return f"{figure(spread.mean)} ± {figure(spread.sd)}" if spread else NONE
