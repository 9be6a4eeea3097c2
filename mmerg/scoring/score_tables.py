"""Tables of scores. A terminal shows a row per metric and a column per run; tables for papers have a row per setting.

rows = [ScoreRow("mine", [scores])]
for part in render(rows, ["acc", "dist2"], ["mine"]):
    console.print(part)
as_latex(tabulate(rows, ["acc", "dist2"]))
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import RenderableType
from rich.text import Text

from mmerg.console.tables import ARROWS, NONE, Table, format_interval, format_number
from mmerg.console.terminal import escape
from mmerg.errors import ConfigError, did_you_mean, group_by_reason
from mmerg.scoring.emotions import BASELINES, CLASS_METRICS
from mmerg.scoring.metric import drop_recorded
from mmerg.scoring.score import Score, Scores
from mmerg.scoring.spread import Spread, average_over_seeds


class ScoreRow(NamedTuple):
    """A run, or several that differ only in their seeds, with a name for tables."""

    name: str
    runs: Sequence[Scores]

    def score(self, metric: str) -> Score | None:
        """Returns the score of the run, or the mean and standard deviation over seeds."""
        scores = [run.scores.get(metric) for run in self.runs]
        return scores[0] if len(scores) == 1 else average_over_seeds(scores)


def select_metrics(runs: Sequence[Scores], columns: str) -> list[str]:
    """Selects the metrics of a table. columns: names of metrics, separated by commas; "" for all metrics but those of a
    single label, with metrics that judge first. Raises ConfigError for an unknown metric."""
    scores = {name: score for run in runs for name, score in run.scores.items()}
    if not columns:
        overall = dict.fromkeys(name for run in runs for name in run.overall)
        return sorted(overall, key=lambda name: scores[name].higher_is_better is None and name not in BASELINES)
    names = [name.strip() for name in columns.split(",")]
    for name in names:
        if name not in scores:
            hint = did_you_mean(name, scores) or f"one of {', '.join(scores)}"
            raise ConfigError(f"there is no metric {name!r}", where="--columns", hint=hint)
    return names


def render(
    rows: Sequence[ScoreRow],
    metrics: Sequence[str],
    labels: Sequence[str],
    verbose: bool = False,
    unequal: str = "",
) -> Iterator[RenderableType]:
    """Yields unequal inputs, the numbered runs, a table of scores with means over seeds in the last columns, and the
    reasons for missing scores. labels: of the runs, in the order of `rows`. verbose: also yield signatures."""
    if unequal:
        yield escape(unequal)
    runs = [run for row in rows for run in row.runs]
    for number, run in enumerate(runs, start=1):
        yield escape(f"{number}: {run.run}: {run.engine}")
        yield escape(f"   {run.corpus}, protocol {run.protocol}; {run.counts_line}")
    labelled = zip(labels, runs, strict=True)
    columns = [ScoreRow(f"{number} {label}", [run]) for number, (label, run) in enumerate(labelled, start=1)]
    for row in rows:
        if len(row.runs) > 1:
            numbers = [str(number) for number, run in enumerate(runs, start=1) if run in row.runs]
            columns.append(ScoreRow(f"mean of {','.join(numbers)}", row.runs))
    headings = ["metric", *(column.name for column in columns), "n"]
    lines = [format_row(_format_heading(runs, name), [column.score(name) for column in columns]) for name in metrics]
    yield Table("", headings, lines)
    for number, run in enumerate(runs, start=1):
        if run.by_label:
            yield Table(f"{number}: by label", ("label", *CLASS_METRICS, "support"), list(_format_labels(run)))
    if incomparable := _describe_incomparable(runs, metrics):
        yield escape(incomparable)
    scored = [name for run in runs for name, score in run.scores.items() if ":" in name and score.value is not None]
    yield from _explain_missing(runs, list(dict.fromkeys([*metrics, *scored])))
    if verbose:
        yield Text("signatures")
        for name in metrics:
            yield from _list_signatures(runs, name)


def tabulate(rows: Sequence[ScoreRow], metrics: Sequence[str], unequal: str = "") -> Table:
    """Makes a table with a row per setting and a column per metric. The best comparable scores are bold. unequal: the
    first note."""
    runs = [run for row in rows for run in row.runs]
    columns = [[row.score(name) for row in rows] for name in metrics]
    cells = [[format_cell(score, lines=True) for score in column] for column in columns]
    best = {
        (row, column_number)
        for column_number, (name, column) in enumerate(zip(metrics, columns, strict=True), start=1)
        for row in _find_best(column, _get_scores(runs, name))
    }
    notes = [unequal] if unequal else []
    if any(score and score.interval for column in columns for score in column):
        notes.append("Below a score its 95 % interval.")
    notes += [f"{row.name}: mean ± standard deviation over {len(row.runs)} seeds" for row in rows if row.runs[1:]]
    notes += dict.fromkeys(f"{run.corpus}, {run.counts_line}" for run in runs)
    if incomparable := _describe_incomparable(runs, metrics):
        notes.append(incomparable)
    headings = ["", *(_format_heading(runs, name) for name in metrics)]
    return Table("", headings, [[row.name, *line] for row, *line in zip(rows, *cells, strict=True)], notes, best)


def list_csv_rows(rows: Sequence[ScoreRow], metrics: Sequence[str]) -> list[Mapping[str, object]]:
    """Lists the rows of a CSV file: one per score of a run, with interval, n, method and signature."""
    return [
        {"row": row.name, "run": run.run} | run.scores[name].row()
        for row in rows
        for run in row.runs
        for name in metrics
        if name in run.scores
    ]


def _get_scores(runs: Sequence[Scores], name: str) -> list[Score]:
    return [run.scores[name] for run in runs if name in run.scores]


def _format_heading(runs: Sequence[Scores], name: str) -> str:
    return name + ARROWS[_get_scores(runs, name)[0].higher_is_better]


def format_row(name: str, scores: Sequence[Score | None]) -> list[str]:
    """Formats a row of scores: its name, a cell per score, and their n. If n differs, each cell shows its n."""
    counts = {score.n for score in scores if score and not isinstance(score, Spread)}
    n = str(counts.pop()) if len(counts) == 1 else ""
    return [name, *(format_cell(score, with_n=not n) for score in scores), n]


def format_cell(score: Score | None, *, with_n: bool = False, lines: bool = False) -> str:
    """Formats a score with its interval, if there is one, and on request with its n. lines: whether these are below
    the score."""
    if score is None or score.value is None:
        return NONE
    if isinstance(score, Spread):
        return f"{format_number(score.value)} ± {format_number(score.sd)}"
    parts = [format_number(score.value)]
    if score.interval:
        interval = format_interval(*score.interval)
        parts.append(interval if lines else f"[{interval}]")
    if with_n:
        parts.append(f"n={score.n}")
    return ("\n" if lines else " ").join(parts)


def _describe_incomparable(runs: Sequence[Scores], metrics: Sequence[str]) -> str:
    """Names the metrics whose signatures differ between runs, such as self_ppl of two models; "" if there are none."""
    signatures = {name: {drop_recorded(s.signature) for s in _get_scores(runs, name)} for name in metrics}
    names = [name for name, different in signatures.items() if len(different) > 1]
    return f"not comparable between these runs, as the signatures differ: {', '.join(names)}" if names else ""


def _find_best(column: Sequence[Score | None], scores: Sequence[Score]) -> list[int]:
    """Finds the rows with the best score, as printed; none if the scores cannot be compared, or there is only one."""
    values = {row: score.value for row, score in enumerate(column) if score and score.value is not None}
    better = scores[0].higher_is_better
    if better is None or len(values) < 2 or len({(drop_recorded(score.signature), score.n) for score in scores}) > 1:
        return []
    best = format_number(max(values.values()) if better else min(values.values()))
    return [row for row, value in values.items() if format_number(value) == best]


def _format_labels(run: Scores) -> Iterator[list[str]]:
    """Yields a row per label, with n of the precision, and the support in the last column."""
    for label, scores in run.by_label.items():
        cells = [format_cell(scores.get(name), with_n=name == "precision") for name in CLASS_METRICS]
        yield [label, *cells, str(scores["recall"].n)]


def _explain_missing(runs: Sequence[Scores], metrics: Sequence[str]) -> Iterator[Text]:
    """Yields a line per reason why scores or intervals are missing or meaningless."""
    numbers = group_by_reason(
        (reason, str(number))
        for number, run in enumerate(runs, start=1)
        for reason in group_by_reason((run.scores[name].why, name) for name in metrics if name in run.scores).items()
    )
    yield from (escape(f"{runs_lacking}: {names}: {why}") for (why, names), runs_lacking in numbers.items() if why)
    for number, run in enumerate(runs, start=1):
        if run.uncut:
            what = "dist, ead and length mean nothing, as most replies have far fewer tokens than words"
            yield escape(f"{number}: {what}; --tokenizer char splits languages without spaces between words")


def _list_signatures(runs: Sequence[Scores], name: str) -> Iterator[Text]:
    """Yields each signature of a metric, with the method of its interval and the numbers of the runs that have it."""
    scores = [(number, run.scores[name]) for number, run in enumerate(runs, start=1) if name in run.scores]
    signatures = ((f"{score.signature} ({score.method})", str(number)) for number, score in scores)
    for signature, numbers in group_by_reason(signatures).items():
        yield escape(f"  {name} of {numbers}: {signature.removesuffix(' ()')}")
