"""A paper's table with our runs beside its rows: which row each run is, and whether the paper's figure lies in our
interval.

    beside = put_beside(published("topk")[0], [read_ours(folder)])
    beside.lines[1].cells[3].inside    # True: the paper's accuracy lies in our 95 % interval
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmerg.errors import by_reason
from mmerg.paper.published import PaperTable, Published
from mmerg.papertables.line import Cell, Line
from mmerg.papertables.ours import Ours, Placed
from mmerg.papertables.rows import Rows, in_words
from mmerg.runs.config_diff import alike_but_for
from mmerg.scoring.intervals import wilson
from mmerg.scoring.spread import one_a_seed, over, seed_of

HEADS = {
    "self_ppl": "PPL (self)",
    "ref_ppl": "PPL (ref)",
    "dist1": "Dist-1",
    "dist2": "Dist-2",
    "ead1": "EAD-1",
    "ead2": "EAD-2",
    "acc": "Acc",
    "bert_p": "BERT P",
    "bert_r": "BERT R",
    "bert_f1": "BERT F1",
    "empathy": "Emp",
    "coherence": "Coh",
    "fluency": "Flu",
    "selected": "selected",
    "win_empathy": "empathy",
    "win_informativity": "informativity",
    "win_fluency": "fluency",
    "win_consistency": "consistency",
    "top1": "top-1",
    "top3": "top-3",
    "top10": "top-10",
    "top20": "top-20",
}
PPL = ("self_ppl", "ref_ppl")
RATED = ("empathy", "coherence", "fluency")  # by people in the papers, by a model here: not one scale
BY_SIZE = ("dist1", "dist2", "ead1", "ead2")  # fall as replies get more
_PRINTED = 0.005  # a paper's figure stands for all that round to it


@dataclass(frozen=True)
class Beside:
    """A table to draw. caveats: what a reader must know of the paper's figures; notes: of ours, and of the marks;
    details: those of the notes that only say how ours were had."""

    title: str
    source: str
    dataset: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    caveats: tuple[str, ...]
    notes: tuple[str, ...]
    details: tuple[str, ...] = ()

    @property
    def told(self) -> list[str]:
        """All that stands below the table: what is to be said of runs, once for all it holds of; then the rest."""
        of_runs = by_reason((line.note, line.name) for line in self.lines if line.note)
        return [*(f"{names}: {note}" for note, names in of_runs.items()), *self.caveats, *self.notes, *self.details]

    @property
    def heads(self) -> list[str]:
        return [HEADS[column] for column in self.columns]


def put_beside(table: PaperTable, runs: Sequence[Ours]) -> Beside:
    """The paper's rows, each followed by the runs that are set as it is, and by those that are its system on other data
    or another model, which are not held against it. Runs that fit no row come last, with what differs from the nearest.
    A table that no run can fit stays the paper's alone."""
    numbered = list(enumerate(runs, start=1)) if any(row.fits is not None for row in table.rows) else []
    rows = Rows(table) if numbered else None
    lines: list[Line] = []
    placed: set[int] = set()
    for row in table.rows:
        lines.append(_of_paper(table, row))
        if rows is None or row.fits is None:
            continue
        fitting: list[Placed] = []
        alike: list[Placed] = []
        for number, run in numbered:
            differ = rows.differences(row.name, run)
            if not differ:
                fitting.append(Placed(number, run))
            elif rows.alike(differ):
                alike.append(Placed(number, run, f"set as its row, but {in_words(differ)}"))
        placed |= {one.number for one in (*fitting, *alike)}
        lines += [*_of_runs(table, fitting, row), *_of_runs(table, alike, row)]
    if rows:
        others = [Placed(number, run, rows.why_not(run)) for number, run in numbered if number not in placed]
        lines += _of_runs(table, others, None)
    notes = tuple(_notes(table, numbered)) if numbered else ()
    details = tuple(_signatures(table, runs)) if numbered else ()
    return Beside(table.title, table.source, table.dataset, table.columns, tuple(lines), table.notes, notes, details)


def _of_paper(table: PaperTable, row: Published) -> Line:
    cells = []
    for column, figure in zip(table.columns, row.figures, strict=True):
        cell = Cell(figure, n=row.n)
        if column == "acc" and figure is not None and row.n is not None:
            low, high = wilson(round(figure / 100 * row.n) / row.n, row.n)
            cell = Cell(figure, 100 * low, 100 * high, row.n, "wilson")
        cells.append(cell)
    return Line(row.name, "paper", row.name, tuple(cells))


def _of_runs(table: PaperTable, runs: Sequence[Placed], row: Published | None) -> Iterator[Line]:
    """A line a run, then the means over their seeds."""
    for one in runs:
        yield _of_run(table, one, row)
    groups: dict[str, list[Placed]] = {}
    for one in runs:
        groups.setdefault(alike_but_for(one.run.manifest, "seed"), []).append(one)
    for group in groups.values():
        yield from _over_seeds(table.columns, group, row.name if row else "")


def _over_seeds(columns: Sequence[str], group: Sequence[Placed], row: str) -> Iterator[Line]:
    """A line for a setting that was run to its end with several seeds. It fits the row as its runs do. A figure has a
    mean if all runs have it, over as many samples and measured in one way."""
    finished = (one for one in group if not one.run.scores.unfinished)
    taken = one_a_seed(finished, lambda one: seed_of(one.run.manifest))
    if len(taken) < 2:
        return
    passed_over = ", ".join(str(one.number) for one in group if one not in taken)
    unused = f"not in it, being unfinished or of a seed that is: {passed_over}" * bool(passed_over)
    cells = tuple(Cell.of(over([one.run.score(column) for one in taken])) for column in columns)
    name, note = f"mean of runs {', '.join(str(one.number) for one in taken)}", taken[0].note(columns)
    yield Line(name, "seeds", row, cells, note="; ".join(filter(None, (note, unused))), fits=taken[0].fits)


def _of_run(table: PaperTable, one: Placed, row: Published | None) -> Line:
    printed = row.figures if row else (None,) * len(table.columns)
    cells = []
    for column, figure in zip(table.columns, printed, strict=True):
        score, inside = one.run.score(column), None
        if score and score.interval and figure is not None and one.fits and _comparable(one.run, column, row):
            low, high = score.interval
            inside = low - _PRINTED <= figure <= high + _PRINTED
        cells.append(Cell.of(score, inside))
    note = one.note(table.columns)
    return Line(f"run {one.number}", "ours", row.name if row else "", tuple(cells), one.run.run, note, one.fits)


def _comparable(run: Ours, column: str, row: Published | None) -> bool:
    """Whether the paper's figure may be held against our interval: the row is sure to be ours, the run has ended, one
    scale measures both, and what falls with n is over as many samples."""
    if row is None or not row.sure or run.scores.unfinished or column in RATED:
        return False
    score = run.score(column)
    return column not in BY_SIZE or (score is not None and score.n == row.n)


def _notes(table: PaperTable, numbered: Sequence[tuple[int, Ours]]) -> Iterator[str]:
    yield "✓ the paper's figure lies in our 95 % interval, ✗ it does not; no mark where there are not both."
    yield (
        "Nor where they do not compare: Dist and EAD of another n, an unfinished run, a row whose label is unsure, "
        "a run that differs in its data or model."
    )
    if any(row.n is not None for row in table.rows):
        yield "The interval of the paper's accuracy is Wilson's, from its n."
    which = by_reason((_of_what(table, run), f"run {number} is {run.called}") for number, run in numbered)
    yield from (f"{runs}: {what}" for what, runs in which.items())


def _signatures(table: PaperTable, runs: Sequence[Ours]) -> Iterator[str]:
    for column in table.columns:
        told = {score.signature: None for run in runs if (score := run.score(column)) and score.signature}
        if column not in PPL:
            yield from (f"ours, {HEADS[column]}: {signature}" for signature in told)


def _of_what(table: PaperTable, run: Ours) -> str:
    """What a run is over, and whose models stand behind its figures."""
    scores = run.scores
    parts = [f"{scores.corpus}, protocol {scores.protocol}", scores.counted]
    for column in table.columns:
        if column in PPL and (score := run.score(column)):
            parts.append(f"PPL is {column} of {score.signature}")
    if any(column in RATED for column in table.columns):
        judges = run.judges_of(RATED)
        names = ", ".join(judge.name for judge in judges)
        if len(judges) > 1:
            parts.append(f"judged by {names}: choose one with --judge")
        else:
            parts.append(f"Emp, Coh, Flu by the model {names}, not by people" if names else "not judged")
    return "; ".join(parts)
