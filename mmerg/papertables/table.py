"""A paper's table, with the user's runs below its rows.

table = add_runs(published("topk")[0], [read_table_run(folder)])
console.print(format_table(table))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mmerg.console.tables import Table
from mmerg.errors import group_by_reason
from mmerg.judging.judgement import Judgement
from mmerg.paper.published import PaperTable, Published
from mmerg.papertables.table_run import TableRun
from mmerg.rating.people import PeopleRatings
from mmerg.runs.config_diff import label_runs
from mmerg.runs.inputs import describe_unequal_inputs
from mmerg.scoring.emotions import describe_baselines
from mmerg.scoring.intervals import wilson
from mmerg.scoring.score import Score
from mmerg.scoring.score_tables import format_cell
from mmerg.scoring.spread import average_over_seeds, group_by_setting

NO_TEST = "The paper does not fully say how it measured: no run is tested against its values."
NOT_TEST = ("train", "dev", "valid")  # splits that papers do not report; a row of such a run names its split
RATED = ("empathy", "coherence", "fluency")


@dataclass(frozen=True)
class TableRow:
    """A row of the paper, of a run, or of a mean over seeds."""

    name: str
    by: Literal["paper", "ours", "seeds"]
    scores: Mapping[str, Score]  # by column
    run: str = ""  # the name of the run's folder
    note: str = ""


@dataclass(frozen=True)
class RunTable:
    """A paper's table with runs."""

    paper: PaperTable
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...]  # on the paper, the runs and the metrics
    unequal: str = ""  # the inputs that only some of the runs have; "" if all have the same


def add_runs(paper: PaperTable, runs: Sequence[TableRun]) -> RunTable:
    """Makes a table of the paper's rows, the runs, and the means over seeds of finished runs."""
    rows = [_make_paper_row(paper, row) for row in paper.rows]
    for number, run in enumerate(runs, start=1):
        scores = {column: score for column in paper.columns if (score := run.score(column))}
        split = run.manifest.corpus.split
        name = f"· run {number}" + f" ({split})" * (split in NOT_TEST)
        rows.append(TableRow(name, "ours", scores, run.run, _note_self_judged(paper, run)))
    finished = [run for run in runs if not run.scores.unfinished]
    for group in group_by_setting([run.manifest for run in finished]):
        seeds = [finished[index] for index in group]
        if len(seeds) > 1:
            averages = ((column, average_over_seeds([run.score(column) for run in seeds])) for column in paper.columns)
            means = {column: mean for column, mean in averages if mean}
            numbers = ", ".join(str(runs.index(run) + 1) for run in seeds)
            rows.append(
                TableRow(f"· mean ± sd of runs {numbers}", "seeds", means, note=_note_self_judged(paper, seeds[0]))
            )
    unequal = describe_unequal_inputs(runs, [run.scores.inputs for run in runs])
    return RunTable(paper, tuple(rows), tuple(_list_notes(paper, runs, rows)), unequal)


def _make_paper_row(paper: PaperTable, row: Published) -> TableRow:
    """Makes a row of the paper. Its accuracy has Wilson's interval if n is known."""
    scores = {column: Score(name=column, value=value, n=row.n or 0) for column, value in paper.printed(row).items()}
    if row.n and "acc" in scores:
        value = scores["acc"].value or 0.0
        low, high = wilson(round(value / 100 * row.n) / row.n, row.n)
        scores["acc"] = Score(name="acc", value=value, n=row.n, interval=(100 * low, 100 * high), method="wilson")
    return TableRow(row.name, "paper", scores)


def _note_self_judged(paper: PaperTable, run: TableRun) -> str:
    """Names the judges that rate their own replies; "" if there are none."""
    ratings = run.find_ratings(paper.columns)
    judges = ", ".join(rated.name for rated in ratings if isinstance(rated, Judgement) and rated.self_judged)
    return f"rated by the model that wrote the replies: {judges}" if judges else ""


def _list_notes(paper: PaperTable, runs: Sequence[TableRun], rows: Sequence[TableRow]) -> Iterator[str]:
    yield f"source: {paper.source}"
    yield from paper.notes
    if any(row.n is not None for row in paper.rows):
        yield "The interval of the paper's accuracy is Wilson's, from the inferred n."
    for number, (run, label) in enumerate(zip(runs, label_runs(runs), strict=True), start=1):
        inputs = ", ".join(run.scores.inputs) or "unknown inputs"
        yield f"run {number} is {run.run} ({label}): {_describe_run(paper, run)}; it sees {inputs}"
    yield from (
        f"{names}: {note}" for note, names in group_by_reason((row.note, row.name) for row in rows).items() if note
    )
    measured = {(score.signature, name) for run in runs for name in paper.columns if (score := run.score(name))}
    yield from (f"ours, {names}: {text}" for text, names in group_by_reason(sorted(measured)).items() if text)


def _describe_run(paper: PaperTable, run: TableRun) -> str:
    """Describes the data, the baselines and the raters of a run."""
    scores, labels = run.scores, len(run.manifest.corpus.labels)
    parts = [f"{scores.corpus}, {labels} emotions, protocol {scores.protocol}", scores.counts_line]
    if "acc" in paper.columns and (text := describe_baselines({n: s.value for n, s in scores.scores.items()})):
        parts.append(f"baselines of acc: {text}")
    if set(RATED) & set(paper.columns):
        match run.find_ratings(RATED):
            case []:
                parts.append("not judged")
            case [Judgement() as judge]:
                parts.append(f"{', '.join(RATED)} rated by the model {judge.name}, not by people")
            case [PeopleRatings() as people]:
                parts.append(f"{', '.join(RATED)} by {people.name}: {people.description}")
            case several:
                names = ", ".join(rated.name for rated in several)
                parts.append(f"several judges ({names}): choose one with --judge")
    return "; ".join(parts)


def format_table(table: RunTable) -> Table:
    """Formats the table. Each cell has a score, its interval and n, one below the other."""
    columns = table.paper.columns
    rows = [(row.name, *(_format_cell(row, column) for column in columns)) for row in table.rows]
    headings = [column.removeprefix("pairs_") for column in columns]
    title = "\n".join(filter(None, (table.unequal, f"{table.paper.title}.", NO_TEST)))
    return Table(title, ("", *headings), rows, table.notes)


def _format_cell(row: TableRow, column: str) -> str:
    score = row.scores.get(column)
    return format_cell(score, with_n=row.by != "paper" or bool(score and score.interval), lines=True)


def list_csv_rows(table: RunTable) -> Iterator[Mapping[str, object]]:
    """Yields the rows of a CSV file, one per score."""
    for row in table.rows:
        note = " ".join((NO_TEST, *table.paper.notes)) if row.by == "paper" else row.note
        for column, score in row.scores.items():
            yield {
                "table": table.paper.title,
                "dataset": table.paper.dataset,
                "by": row.by,
                "row": row.name,
                "run": row.run,
                **score.row(),
                "metric": column,
                "n": score.n or None,
                "note": note,
            }
