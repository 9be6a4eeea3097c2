"""A paper's table with runs below its rows.

matched = match_rows(Rows(published("topk")[0]), [read_candidate(folder)])
matched.lines[1].scores["acc"]    # of the first row, or of a run below it
console.print(sheet(matched))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mmerg.console.tables import NONE, Sheet, between, figure
from mmerg.errors import by_reason
from mmerg.paper.published import PaperTable, Published
from mmerg.papertables.candidates import Candidate
from mmerg.papertables.rows import Rows, describe
from mmerg.runs.inputs import inputs_of, unequal_inputs
from mmerg.scoring.intervals import wilson
from mmerg.scoring.score import Score
from mmerg.scoring.spread import Spread, by_seeds, over

NO_TEST = "The paper does not fully say how it measured: no run is tested against its figures."
RATED = ("empathy", "coherence", "fluency")  # by people in the papers, by a model here: not one scale
HEADS = {  # of columns, as papers print them
    "self_ppl": "PPL (self)",
    "ppl": "PPL",
    "acc": "Acc",
    "dist1": "Dist-1",
    "dist2": "Dist-2",
    "ead1": "EAD-1",
    "ead2": "EAD-2",
    "bert_p": "BERT P",
    "bert_r": "BERT R",
    "bert_f1": "BERT F1",
    "empathy": "Emp",
    "coherence": "Coh",
    "fluency": "Flu",
}


@dataclass(frozen=True)
class Line:
    """A line of the paper, of a run, or of the mean of runs that differ in their seeds. row: the row of the paper above
    it; fits: whether all settings are those of that row. note: what a reader must know."""

    name: str
    by: Literal["paper", "ours", "seeds"]
    row: str
    scores: Mapping[str, Score]
    run: str = ""
    note: str = ""
    fits: bool = True

    @property
    def title(self) -> str:
        """The name, and that the settings are not those of a row."""
        return self.name if self.by == "paper" else f"· {self.name}" + " (differs)" * (not self.fits)


@dataclass(frozen=True)
class MatchedTable:
    """A paper's table with lines for runs. notes: on the runs, and how their figures were measured. unequal: which runs
    are told what others are not."""

    paper: PaperTable
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    unequal: str = ""

    def describe(self) -> list[str]:
        """What stands below the table."""
        of_lines = by_reason((line.note, line.name) for line in self.lines if line.note)
        return [*(f"{names}: {note}" for note, names in of_lines.items()), *self.paper.notes, *self.notes]


def match_rows(rows: Rows, runs: Sequence[Candidate]) -> MatchedTable:
    """The paper's rows, each followed by the runs that are nearest to its settings: first those that have them, then
    those that differ, with what differs. A table that no run can fit has the paper's rows alone."""
    table = rows.table
    numbered = dict(enumerate(runs, start=1)) if rows.settings else {}
    nearest = {number: rows.nearest(run) for number, run in numbered.items()}
    lines: list[Line] = []
    for row in table.rows:
        lines.append(_paper_line(table, row))
        differs = {number: describe(settings) for number, (name, settings) in nearest.items() if name == row.name}
        lines += _run_lines(table, row, numbered, dict(sorted(differs.items(), key=lambda item: item[1] != "")))
    return MatchedTable(table, tuple(lines), tuple(_notes(table, numbered)), unequal_inputs([*numbered.values()]))


def _paper_line(table: PaperTable, row: Published) -> Line:
    scores = {column: Score(name=column, value=value, n=row.n or 0) for column, value in table.printed(row).items()}
    if row.n and (value := table.printed(row).get("acc")):
        low, high = wilson(round(value / 100 * row.n) / row.n, row.n)
        scores["acc"] = Score(name="acc", value=value, n=row.n, interval=(100 * low, 100 * high), method="wilson")
    return Line(row.name, "paper", row.name, scores)


def _run_lines(
    table: PaperTable, row: Published, runs: Mapping[int, Candidate], numbers: Mapping[int, str]
) -> Iterator[Line]:
    """A line for each run, then the means over seeds. numbers: the runs, each with its difference from the row."""
    for number, differs in numbers.items():
        run = runs[number]
        scores = {column: score for column in table.columns if (score := run.score(column))}
        yield Line(f"run {number}", "ours", row.name, scores, run.run, _note(table, run, differs), not differs)
    finished = [number for number in numbers if not runs[number].scores.unfinished]
    for seeds in by_seeds([runs[number].manifest for number in finished]):
        alike = [finished[at] for at in seeds]
        if len(alike) > 1:
            means = {column: over([runs[number].score(column) for number in alike]) for column in table.columns}
            scores = {column: mean for column, mean in means.items() if mean}
            name, differs = f"mean of runs {', '.join(map(str, alike))}", numbers[alike[0]]
            yield Line(name, "seeds", row.name, scores, note=_note(table, runs[alike[0]], differs), fits=not differs)


def _note(table: PaperTable, run: Candidate, differs: str) -> str:
    own = ", ".join(judge.name for judge in run.judges_of(table.columns) if judge.self_judged)
    return "; ".join(filter(None, (differs, f"rated by the model that wrote the replies: {own}" * bool(own))))


def _notes(table: PaperTable, runs: Mapping[int, Candidate]) -> Iterator[str]:
    if any(row.n is not None for row in table.rows):
        yield "The interval of the paper's accuracy is Wilson's, from the inferred n."
    about = by_reason((_describe_run(table, run), f"run {number} is {run.name}") for number, run in runs.items())
    yield from (f"{names}: {text}" for text, names in about.items())
    told = by_reason((", ".join(inputs_of(run.manifest)), f"run {number}") for number, run in runs.items())
    yield from (
        f"{names} see{'s' * (',' not in names)} {text or 'nothing that is known'}" for text, names in told.items()
    )
    measured = {(score.signature, one) for run in runs.values() for one in table.columns if (score := run.score(one))}
    yield from (f"ours, {names}: {text}" for text, names in by_reason(sorted(measured)).items() if text)


def _describe_run(table: PaperTable, run: Candidate) -> str:
    """The data of a run, and who rated it."""
    scores = run.scores
    parts = [f"{scores.corpus}, protocol {scores.protocol}", scores.counted]
    if set(RATED) & set(table.columns):
        people = {name: one.told for name, one in run.people.items() if one.scores.keys() & set(RATED)}
        names = list(people) or [judge.name for judge in run.judges_of(RATED)]
        several = f"judged by {', '.join(names)}: choose one with --judge"
        one = f"{', '.join(RATED)} by the model {names[0]}, not by people" if names else "not judged"
        one = f"{', '.join(RATED)} by {names[0]}: {people[names[0]]}" if people else one
        parts.append(several if len(names) > 1 else one)
    return "; ".join(parts)


def sheet(matched: MatchedTable) -> Sheet:
    """A line of the table a row; below a figure its interval and n."""
    paper = matched.paper
    rows = [(line.title, *(_cell(line, column) for column in paper.columns)) for line in matched.lines]
    heads = [HEADS.get(column, column.removeprefix("pairs_").replace("top", "top-")) for column in paper.columns]
    notes = [f"source: {paper.source}", *matched.describe()]
    title = "\n".join(filter(None, (matched.unequal, f"{paper.title}.", NO_TEST)))
    return Sheet(title, ("", *heads), rows, notes)


def _cell(line: Line, column: str) -> str:
    score = line.scores.get(column)
    if score is None or score.value is None:
        return NONE
    parts = [figure(score.value)]
    if isinstance(score, Spread):
        return "\n".join((*parts, f"sd {figure(score.sd)}", f"{score.n} seeds"))
    if score.interval:
        parts.append(between(*score.interval))
    if line.by != "paper" or score.interval:
        parts.append(f"n={score.n}")
    return "\n".join(parts)


def facts(matched: MatchedTable) -> Iterator[Mapping[str, object]]:
    """A figure a row. fits: whether a run has the settings of its row; where not, the note says what differs."""
    for line in matched.lines:
        paper = line.by == "paper"
        about = {"table": matched.paper.title, "dataset": matched.paper.dataset, "by": line.by, "row": line.row}
        about |= {"fits": "" if paper else str(line.fits).lower(), "run": line.run}
        for column, score in line.scores.items():
            known = {"metric": column} | ({"n": score.n or None} if paper else {})
            note = " ".join((NO_TEST, *matched.paper.notes)) if paper else line.note
            yield {**about, **score.row(), **known, "note": note}
