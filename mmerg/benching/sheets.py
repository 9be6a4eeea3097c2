"""A bench as tables of plain text, the same for a terminal and for Markdown: figures, speed, what served them.

Nothing is left out in silence: a "–" has its reason in `notes`.

    for sheet in sheets(bench):
        sheet.title, sheet.heads, sheet.lines
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmerg.benching.measure import COLUMNS
from mmerg.benching.rows import Bench, Row
from mmerg.scoring.score import Score
from mmerg.scoring.shown import figure

HEADS = {"acc": "acc ↑", "self_ppl": "self_ppl ↓", "dist1": "dist1 ↑", "dist2": "dist2 ↑", "bert_f1": "bert_f1 ↑"}
NONE = "–"


@dataclass(frozen=True)
class Sheet:
    """A table; the first column is text, the others are figures unless `words`. Cells may have several lines."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    words: bool = False


def sheets(bench: Bench) -> list[Sheet]:
    """The tables of a bench with rows; those that were skipped come last."""
    found = [_quality(bench), _speed(bench), _served(bench)] if bench.rows else []
    if bench.skipped:
        lines = tuple((skipped.name, skipped.why, skipped.next) for skipped in bench.skipped)
        found.append(Sheet("not run", ("backbone", "why", "next"), lines, words=True))
    return found


def _columns(bench: Bench) -> list[str]:
    return [column for column in COLUMNS if any(column in row.scores or column in row.paper for row in bench.rows)]


def _quality(bench: Bench) -> Sheet:
    columns = _columns(bench)
    lines: list[tuple[str, ...]] = []
    for row in bench.rows:
        lines.append((f"{row.name} ({row.engine.mark})", *(_score(row.scores.get(column)) for column in columns)))
        if row.paper:
            printed = (f"{row.paper[column]:.2f}" if column in row.paper else NONE for column in columns)
            lines.append(("  the paper's", *printed))
    return Sheet("figures, 95 % intervals", ("backbone", *(HEADS[column] for column in columns)), tuple(lines))


def _score(score: Score | None) -> str:
    if score is None:
        return NONE
    if score.value is None:
        return f"{NONE}\nn={score.n}"
    between = f"\n{figure(score.interval[0])} to {figure(score.interval[1])}" if score.interval else ""
    return f"{figure(score.value)}{between}\nn={score.n}"


def _speed(bench: Bench) -> Sheet:
    heads = ("s/sample median", "p95", "n", "prompt tok/s", "reply tok/s", "timed calls")
    lines = []
    for row in bench.rows:
        seconds = row.speed.seconds
        figures = (f"{seconds.median:.2f}", f"{seconds.p95:.2f}", str(seconds.n)) if seconds else (NONE, NONE, "0")
        rates = (row.speed.prompt_tokens_s, row.speed.reply_tokens_s)
        told = (NONE if rate is None else f"{rate:.1f}" if rate < 1000 else f"{rate:.0f}" for rate in rates)
        lines.append((f"{row.name} ({row.engine.mark})", *figures, *told, str(row.speed.calls)))
    return Sheet("speed, of what the reply cache did not serve", ("backbone", *heads), tuple(lines))


def _served(bench: Bench) -> Sheet:
    heads = ("samples", "failed", "calls (cached)", "memory", "on the CPU", "context", "digest")
    lines = []
    for row in bench.rows:
        engine = row.engine
        failures = "".join(f"\n{count} {failure}" for failure, count in row.failures.items())
        lines.append(
            (
                f"{row.name} ({engine.mark})",
                str(row.samples),
                f"{row.failed}{failures}",
                f"{row.calls} ({row.cached_calls})",
                *_memory(row),
                str((row.memory and row.memory.context) or engine.num_ctx or NONE),
                engine.digest[:12] or NONE,
            )
        )
    return Sheet("what served them", ("backbone", *heads), tuple(lines))


def _memory(row: Row) -> tuple[str, str]:
    if row.memory is None:
        return NONE, NONE
    size, on_gpu = row.memory.size, row.memory.on_gpu
    spill = NONE if on_gpu is None or not size else f"{100 * (1 - min(on_gpu, size) / size):.0f} %"
    return f"{size / 2**30:.2f} GiB", spill


def notes(bench: Bench) -> Iterator[str]:
    """What stands below the tables: the protocol, what a reader must know, and why figures are missing."""
    yield from dict.fromkeys(f"{bench.dataset}: protocol {row.protocol}" for row in bench.rows)
    yield from _engines(bench.rows)
    for row in bench.rows:
        reasons: dict[str, list[str]] = {}
        for score in row.scores.values():
            if score.why:
                reasons.setdefault(score.why, []).append(score.name)
        for why, columns in reasons.items():
            yield f"{row.name}: {', '.join(columns)}: {why}"
        if row.speed.why:
            yield f"{row.name}: speed: {row.speed.why}"
        if row.memory_why:
            yield f"{row.name}: memory: {row.memory_why}"
        elif row.memory and row.memory.on_gpu is None:
            yield f"{row.name}: memory: {row.memory.of}; what lies on a GPU is not known"
    if any(row.engine.backend == "ollama" for row in bench.rows):
        yield "prompt tok/s of Ollama: its count has the tokens of a prefix that it reused, its time has not"
    if bench.rows:
        yield "reply tok/s: median over calls; s/sample: of samples that came out well and made all their calls"
    if any("self_ppl" in row.scores for row in bench.rows):
        yield "self_ppl is of each model over its own tokens: rows of different models do not compare"
    if any(row.paper for row in bench.rows):
        yield f"the paper's: {bench.paper}"


def _engines(rows: Sequence[Row]) -> Iterator[str]:
    engines = {row.engine.mark: f"{row.engine.backend} {row.engine.version}" for row in rows}
    for mark, told in engines.items():
        yield f"({mark}) {told}"
    if len(engines) > 1:
        yield f"speeds of {', '.join(f'({mark})' for mark in engines)} are of different engines: they do not compare"
