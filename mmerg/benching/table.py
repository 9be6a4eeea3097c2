"""The table of a bench, a view of its runs: quality, speed and memory of each backbone, and whether it could be run.

Nothing is left out in silence: a "–" has its reason below the table.

    write(folder, Bench("meld", 50, rows, skipped))    # bench.md, bench.csv and the plot
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mmerg.benching.backbones import Skipped
from mmerg.benching.measure import Row
from mmerg.console.tables import NONE, Sheet, as_csv, as_markdown, figure
from mmerg.errors import by_reason
from mmerg.paper.published import published
from mmerg.plots import style
from mmerg.plots.dots import draw_panels
from mmerg.plots.run_data import TITLES, describe_runs
from mmerg.scoring import score_tables
from mmerg.scoring.spread import by_seeds
from mmerg.storage.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUALITY = ("acc", "self_ppl", "ref_ppl", "dist1", "dist2", "bert_f1")
COST = ("seconds", "seconds p95", "reply tok/s", "prompt tok/s", "GiB", "% on CPU")
_WIDEST = 24  # columns of the name of a model, beyond which it goes on below
_HEADS = ("samples", "calls", "model", "engine")
_GENERAL = (
    "seconds: median over samples that came out well and made all their calls",
    "reply tok/s: median over calls; prompt tok/s of Ollama: its count has the tokens of a prefix that it reused, its "
    "time has not",
    "self_ppl is of each model over its own tokens: rows of different models do not compare",
    "bert_f1 takes a model of its own: --bert",
)


@dataclass(frozen=True)
class Bench:
    """The runs of a call, and the backbones that did not run. n: samples to draw; a corpus may have fewer."""

    dataset: str
    n: int
    rows: Sequence[Row]
    skipped: Sequence[Skipped] = ()
    settings: Sequence[str] = ()


def write(folder: Path, bench: Bench) -> list[Path]:
    """Write table and plot; the files. A plot of before goes where there is nothing to draw. Raises RunError."""
    files = [folder / "bench.md", folder / "bench.csv"]
    write_whole(files[0], as_markdown(sheet(bench)))
    columns = _columns(bench.rows)
    named = [score_tables.Row(name, [row.scores]) for name, row in zip(_names(bench.rows), bench.rows, strict=True)]
    write_whole(files[1], as_csv(score_tables.facts(named, columns)))
    with style.styled():
        drawn = picture(bench.rows)
        for file in (folder / "bench.png", folder / "bench.svg"):
            if drawn:
                style.write(drawn, file)
                files.append(file)
            else:
                file.unlink(missing_ok=True)
    return files


def sheet(bench: Bench) -> Sheet:
    """A row a backbone, with means over several seeds; below it the paper's figures. Last the backbones that did not
    run."""
    by_setting = by_seeds([row.manifest for row in bench.rows])
    groups = [[bench.rows[place] for place in places] for places in by_setting]
    columns = _columns(bench.rows)
    seeds = [score_tables.Row(group[0].backbone.name, [row.scores for row in group]) for group in groups]
    scored = score_tables.sheet(seeds, columns)
    lines: list[tuple[str, ...]] = []
    for group, (name, *cells) in zip(groups, scored.rows, strict=True):
        lines.append((name, "yes", *cells, *_about(group)))
        if paper := of_paper(group[0]):
            printed = (figure(paper.get(column)) if column in QUALITY else "" for column in columns)
            lines.append(("· the paper's", "", *printed, *[""] * len(_HEADS)))
    lines += [(one.name, "no", *[NONE] * (len(columns) + len(_HEADS))) for one in bench.skipped]
    heads = ("backbone", "available", *scored.heads[1:], *_HEADS)
    title = f"Bench: {bench.dataset}, {bench.n} samples asked for"
    return Sheet(title, heads, lines, [*scored.notes, *_notes(bench)])


def _about(runs: Sequence[Row]) -> tuple[str, ...]:
    """The cells below _HEADS."""
    engine = runs[0].manifest.engine
    samples, failed, unaudited = (
        sum(getattr(run.scores, name) for run in runs) for name in ("n", "failed", "unaudited")
    )
    counts = f"{samples}\n{failed} failed" + f"\n{unaudited} unaudited" * bool(unaudited)
    calls = f"{sum(run.calls for run in runs)}\n{sum(run.cached for run in runs)} cached"
    model = "\n".join(textwrap.wrap(engine.model, _WIDEST))
    model += f"\n{engine.digest[:12] or NONE}\ncontext {engine.load.get('num_ctx') or NONE}"
    return counts, calls, model, runs[0].engine


def _notes(bench: Bench) -> Iterator[str]:
    """What a reader must know, and why figures are missing."""
    rows = bench.rows
    if bench.settings:
        yield f"settings: {' '.join(bench.settings)}"
    yield from map(str, bench.skipped)
    yield from dict.fromkeys(f"protocol {row.scores.protocol}" for row in rows)
    if len({row.engine for row in rows}) > 1:
        yield "speeds of different engines do not compare"
    notes: list[tuple[str, str]] = []
    for name, row in zip(_names(rows), rows, strict=True):
        whys = by_reason((row.scores.scores[figure].why, figure) for figure in _columns([row]))
        notes += [(f"{figures}: {why}", name) for why, figures in whys.items() if why]
        notes += [(note, name) for note in (row.backbone.note, row.fault) if note]
    yield from (f"{names}: {note}" for note, names in by_reason(notes).items())
    yield from _GENERAL
    if any(map(of_paper, rows)):
        [table] = published("backbones")
        yield f"the paper's: {table.source}: {table.title}, n={table.samples}"


def picture(rows: Sequence[Row]) -> Figure | None:
    """Accuracy and BERTScore, or distinct-2, and seconds a sample, a row a run; None where no run has both a figure
    and seconds."""

    def has(row: Row, name: str) -> bool:
        return name in row.scores.scores and row.scores.scores[name].value is not None

    drawn = [n for n in ("acc", "bert_f1", "dist2") if any(has(row, n) and has(row, "seconds") for row in rows)]
    if not drawn:
        return None
    titles = {name: TITLES[name] for name in (drawn[:2] if "acc" in drawn else drawn[:1])}
    titles["seconds"] = "Seconds a sample"
    scores = {title: [row.scores.scores.get(name) for row in rows] for name, title in titles.items()}
    caption = " · ".join([describe_runs(rows), *dict.fromkeys(row.engine for row in rows)])
    return draw_panels(scores, _names(rows), "Quality and time, with 95 % intervals", caption)


def of_paper(row: Row) -> Mapping[str, float]:
    """The paper's figures for a backbone; none where it has no row, or another model stands behind the page's name."""
    [table] = published("backbones")
    own = not row.backbone.generic and row.backbone.model == row.manifest.engine.model
    rows = [one for one in table.rows if own and one.fits == {"backbone": row.backbone.name}]
    return table.printed(rows[0]) if rows else {}


def _names(rows: Sequence[Row]) -> list[str]:
    """What runs are called: by their backbones, with the seed where one has several."""
    names = [row.backbone.name for row in rows]
    return [name + f" seed {row.seed}" * (names.count(name) > 1) for name, row in zip(names, rows, strict=True)]


def _columns(rows: Sequence[Row]) -> list[str]:
    """The figures that any of the rows has, or says why it has not."""
    return [name for name in (*QUALITY, *COST) if any(name in row.scores.scores for row in rows)]
