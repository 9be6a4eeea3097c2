"""A bench as one table and one plot: quality, speed, memory of each backbone, and whether it could be run here.

Nothing is left out in silence: a "–" has its reason below the table.

    console.print(sheet(bench))
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mmerg.benching.backbones import Skipped
from mmerg.benching.measure import COLUMNS, Row, paper_table
from mmerg.console.tables import NONE, Sheet, between, figure
from mmerg.plots import style
from mmerg.plots.dots import draw_panels
from mmerg.plots.run_data import TITLES
from mmerg.scoring.score import Score
from mmerg.scoring.spread import Spread, one_a_seed, over, spread_of
from mmerg.storage.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOWN = ("self_ppl", "ref_ppl")  # less is better
SPEEDS = {
    "median": "s/sample median",
    "p95": "s/sample p95",
    "prompt_tokens_s": "prompt tok/s",
    "reply_tokens_s": "reply tok/s",
}
_MODEL = 24  # columns of a model's name, beyond which it goes on below
_HEADS = ("s/sample", "tok/s", "memory", "samples", "calls", "model")


class Bench(Record):
    """What `bench.json` keeps. asked: samples that were asked for; a corpus may have fewer. settings, figures: what the
    table was asked for, beside its backbones. earlier: rows that an earlier call left here."""

    dataset: str
    asked: int
    settings: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    earlier: tuple[str, ...] = ()


class Mean:
    """Over the rows of a backbone on one engine that differ in their seeds alone. figures: by column, those that all
    rows have over as many samples, and rates of tokens, which are over the calls of each; uneven: columns of which
    there is no mean, as rows lack them or have them over fewer samples."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        columns = dict.fromkeys(column for row in rows for column in row.scores)
        found = {column: over([row.scores.get(column) for row in rows]) for column in columns}
        had = {column for column in columns if any(_value(row, column) is not None for row in rows)}
        for name in SPEEDS:
            values = [getattr(row.speed, name) for row in rows]
            # seconds over as many samples in all rows; a rate of tokens is each row's own, however many calls it made
            found[name] = spread_of(values, [] if name.endswith("_s") else [row.speed.samples for row in rows])
            had |= {name} if any(value is not None for value in values) else set()
        self.figures = {name: spread for name, spread in found.items() if spread}
        self.uneven = [name for name in found if name in had and name not in self.figures]


def means(rows: Sequence[Row]) -> list[Mean]:
    """A mean for each backbone, engine and protocol that has rows of several seeds, in the order of the rows."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.backbone, row.engine.model_dump_json(), row.protocol), []).append(row)
    taken = [one_a_seed(group, lambda row: row.seed) for group in groups.values()]
    return [Mean(group) for group in taken if len(group) > 1]


def marks(rows: Sequence[Row]) -> dict[str, str]:
    """A letter for each backend and version, which must be equal for speeds to compare."""
    return {told: f"({chr(ord('a') + number)})" for number, told in enumerate(dict.fromkeys(map(_engine, rows)))}


def _engine(row: Row) -> str:
    return f"{row.engine.backend} {row.engine.version}"


def sheet(bench: Bench) -> Sheet:
    """The rows of each backbone, below them the paper's and means over seeds; last those that did not run."""
    columns = [c for c in COLUMNS if any(c in row.scores or c in row.paper for row in bench.rows)]
    marked, averaged = marks(bench.rows), means(bench.rows)
    rows: list[tuple[str, ...]] = []
    for backbone in dict.fromkeys(row.backbone for row in bench.rows):
        for row in (row for row in bench.rows if row.backbone == backbone):
            quality = (_score(row.scores.get(column)) for column in columns)
            rows.append((f"{row.name} {marked[_engine(row)]}", "yes", *quality, *_cost(row)))
            if row.paper:
                printed = (figure(row.paper.get(column)) for column in columns)
                rows.append((f"· the paper's ({row.paper_of})", "", *printed, *[""] * len(_HEADS)))
        for mean in (mean for mean in averaged if mean.rows[0].backbone == backbone):
            median, p95, prompt, reply = (_spread(mean.figures.get(name)) for name in SPEEDS)
            quality = (_spread(mean.figures.get(column)) for column in columns)
            cost = (f"{median}\np95 {p95}", f"{reply}\n{prompt} prompt", *[""] * (len(_HEADS) - 2))
            rows.append((f"· mean of {len(mean.rows)} {marked[_engine(mean.rows[0])]}", "", *quality, *cost))
    rows += [(skipped.name, "no", *[NONE] * (len(columns) + len(_HEADS))) for skipped in bench.skipped]
    heads = (f"{column} {'↓' if column in DOWN else '↑'}" for column in columns)
    title = f"Bench: {bench.dataset}, {bench.asked} samples asked for"
    return Sheet(title, ("backbone", "available", *heads, *_HEADS), rows, tuple(notes(bench)))


def _score(score: Score | None) -> str:
    """A figure with its interval and n."""
    if score is None:
        return NONE
    return "\n".join((figure(score.value), *([between(*score.interval)] if score.interval else []), f"n={score.n}"))


def _spread(spread: Spread | None) -> str:
    return f"{figure(spread.value)} ± {figure(spread.sd)}" if spread else NONE


def _cost(row: Row) -> tuple[str, ...]:
    """What stands below _HEADS."""
    speed, memory, engine = row.speed, row.memory, row.engine
    seconds = f"{figure(speed.median)}\np95 {figure(speed.p95)}\nof {speed.samples}" if speed.samples else NONE
    rates = f"{figure(speed.reply_tokens_s)}\n{figure(speed.prompt_tokens_s)} prompt"
    failures = [f"{row.failed} failed", *(f"{count} {failure}" for failure, count in row.failures.items())]
    samples = [str(row.samples), *failures, *([f"{row.unaudited} unaudited"] * bool(row.unaudited))]
    calls = f"{row.calls}\n{row.cached_calls} cached\n{speed.calls} timed"
    size = f"{memory.size / 2**30:.2f} GiB" if memory.size else NONE
    if memory.size and memory.on_gpu is not None:
        size += f"\n{100 * (1 - min(memory.on_gpu, memory.size) / memory.size):.0f} % on CPU"
    context = memory.context or engine.load.get("num_ctx")
    model = (*textwrap.wrap(engine.model, _MODEL), engine.digest[:12] or NONE, f"context {context or NONE}")
    return seconds, rates, size, "\n".join(samples), calls, "\n".join(model)


def notes(bench: Bench) -> Iterator[str]:
    """What stands below: the protocol, what a reader must know, and why figures are missing."""
    rows, averaged = bench.rows, means(bench.rows)
    if bench.settings:
        yield f"settings: {' '.join(bench.settings)}"
    if bench.figures:
        yield f"figures: {' '.join(bench.figures)}"
    yield from (one.told for one in bench.skipped)
    yield from dict.fromkeys(f"{bench.dataset}: protocol {row.protocol}" for row in rows)
    engines = marks(rows)
    yield from (f"{mark} {told}" for told, mark in engines.items())
    if len(engines) > 1:
        yield f"speeds of {', '.join(engines.values())} are of different engines: they do not compare"
    about: dict[str, list[str]] = {}
    for row in rows:
        for told in filter(None, (row.note, *_lacking(row))):
            about.setdefault(told, []).append(row.name)
    yield from (f"{', '.join(names)}: {told}" for told, names in about.items())
    for mean in averaged:
        if mean.uneven:
            columns = ", ".join(SPEEDS.get(column, column) for column in mean.uneven)
            yield f"{mean.rows[0].backbone}: no mean of {columns}: not all seeds have it over as many samples"
    unscored = any("bert_f1" in row.paper and row.scores and "bert_f1" not in row.scores for row in rows)
    general = {
        "mean of N: over runs that differ in their seed alone, sd: standard deviation over these": averaged,
        "prompt tok/s of Ollama: its count has the tokens of a prefix that it reused, its time has not": any(
            row.engine.backend == "ollama" for row in rows
        ),
        "reply tok/s: median over calls; s/sample: of samples that came out well and made all their calls": rows,
        "self_ppl is of each model over its own tokens: rows of different models do not compare": any(
            "self_ppl" in row.scores for row in rows
        ),
        "bert_f1 takes a model of its own: --bert": unscored,
        f"the paper's: {paper_table().source}: {paper_table().title}": any(row.paper for row in rows),
        f"as an earlier call left them: {', '.join(bench.earlier)}": bench.earlier,
    }
    yield from (told for told, holds in general.items() if holds)


def _lacking(row: Row) -> Iterator[str]:
    """Why figures of a row are missing, or over fewer samples than it has."""
    if row.scores_why:
        yield f"no quality: {row.scores_why}"
    for why in dict.fromkeys(score.why for score in row.scores.values() if score.why):
        yield f"{', '.join(score.name for score in row.scores.values() if score.why == why)}: {why}"
    if row.speed.why:
        yield f"speed: {row.speed.why}"
    elif row.speed.samples < row.samples:
        counts = ((row.failed, "failed"), (row.speed.helped, "had replies from the cache"))
        left_out = ", ".join(f"{count} {why}" for count, why in counts if count)
        yield f"s/sample is of {row.speed.samples} of {row.samples} samples: {left_out}"
    if row.memory.why:
        yield f"memory: {row.memory.why}"
    elif row.memory.on_gpu is None:
        yield f"memory: {row.memory.of}; what lies on a GPU is not known"


def picture(bench: Bench) -> Figure | None:
    """Accuracy with its 95 % interval, BERTScore or distinct-2, and seconds a sample with their quartiles, a row a
    backbone; None where no row has both a figure and seconds."""
    timed = [row for row in bench.rows if row.speed.samples]
    having = [c for c in ("acc", "bert_f1", "dist2") if any(_value(row, c) is not None for row in timed)]
    columns = having[:2] if "acc" in having else having[:1]
    if not columns:
        return None
    scores = {TITLES[column]: [row.scores.get(column) for row in bench.rows] for column in columns}
    scores["Seconds a sample"] = [_seconds(row) for row in bench.rows]
    marked = marks(bench.rows)
    names = [f"{style.label(row.name, 20)} {marked[_engine(row)]}" for row in bench.rows]
    protocols = dict.fromkeys(row.protocol for row in bench.rows)
    caption = " · ".join((bench.dataset, *protocols, *(f"{mark} {told}" for told, mark in marked.items())))
    return draw_panels(scores, names, "Quality, with 95 % intervals, and time, with quartiles", caption)


def _value(row: Row, column: str) -> float | None:
    return row.scores[column].value if column in row.scores else None


def _seconds(row: Row) -> Score | None:
    speed = row.speed
    if speed.median is None or speed.p25 is None or speed.p75 is None:
        return None
    return Score(name="seconds", value=speed.median, interval=(speed.p25, speed.p75), n=speed.samples)
