"""What stands below the tables of a bench: the protocol, what a reader must know, and why figures are missing.

for note in notes(bench):
    print(note)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmerg.benching.rows import Bench, Row
from mmerg.benching.speed import FIGURES


def notes(bench: Bench) -> Iterator[str]:
    """A line each, the most general first."""
    yield from dict.fromkeys(f"{bench.dataset}: protocol {row.protocol}" for row in bench.rows)
    yield from _engines(bench.rows)
    about: dict[str, list[str]] = {}
    for row in bench.rows:
        for told in (*([row.note] if row.note else []), *_lacking(row)):
            about.setdefault(told, []).append(row.name)
    for told, names in about.items():
        yield f"{', '.join(names)}: {told}"
    for mean in bench.means:
        if mean.uneven:
            columns = ", ".join(_spoken(column) for column in mean.uneven)
            yield f"{mean.backbone}: no mean of {columns}: not all seeds have it over as many samples"
    if bench.means:
        yield "mean of N: over runs that differ in their seed alone, sd: standard deviation over these"
    if any(row.engine.backend == "ollama" for row in bench.rows):
        yield "prompt tok/s of Ollama: its count has the tokens of a prefix that it reused, its time has not"
    if bench.rows:
        yield "reply tok/s: median over calls; s/sample: of samples that came out well and made all their calls"
    if any("self_ppl" in row.scores for row in bench.rows):
        yield "self_ppl is of each model over its own tokens: rows of different models do not compare"
    if any("bert_f1" in row.paper and row.scores and "bert_f1" not in row.scores for row in bench.rows):
        yield "bert_f1 takes a model of its own: --bert"
    if any(row.paper for row in bench.rows):
        yield f"the paper's: {bench.paper}"
    if bench.earlier:
        yield f"as an earlier call left them: {', '.join(bench.earlier)}"


def _spoken(column: str) -> str:
    return " ".join(FIGURES[column].head.split()) if column in FIGURES else column


def _engines(rows: Sequence[Row]) -> Iterator[str]:
    engines = {row.engine.mark: f"{row.engine.backend} {row.engine.version}" for row in rows}
    for mark, told in engines.items():
        yield f"({mark}) {told}"
    if len(engines) > 1:
        yield f"speeds of {', '.join(f'({mark})' for mark in engines)} are of different engines: they do not compare"


def _lacking(row: Row) -> Iterator[str]:
    """Why figures of a row are missing, or over fewer samples than it has."""
    if row.scores_why:
        yield f"no quality: {row.scores_why}"
    reasons: dict[str, list[str]] = {}
    for score in row.scores.values():
        if score.why:
            reasons.setdefault(score.why, []).append(score.name)
    for why, columns in reasons.items():
        yield f"{', '.join(columns)}: {why}"
    if row.speed.why:
        yield f"speed: {row.speed.why}"
    elif row.speed.seconds and row.speed.seconds.n < row.samples:
        counts = ((row.failed, "failed"), (row.speed.helped, "had replies from the cache"))
        left_out = ", ".join(f"{count} {why}" for count, why in counts if count)
        yield f"s/sample is of {row.speed.seconds.n} of {row.samples} samples: {left_out}"
    if row.memory_why:
        yield f"memory: {row.memory_why}"
    elif row.memory and row.memory.on_gpu is None:
        yield f"memory: {row.memory.of}; what lies on a GPU is not known"
