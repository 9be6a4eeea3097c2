"""Scores as tables. For a terminal: a row per metric, a column per run. For papers and spreadsheets: a row per setting.

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
from mmerg.scoring.run_results import describe_without_logprobs
from mmerg.scoring.score import Score, Scores
from mmerg.scoring.spread import Spread, average_over_seeds


class ScoreRow(NamedTuple):
    """A run, or runs that differ only in their seeds, and their name in a table."""

    name: str
    runs: Sequence[Scores]

    def score(self, metric: str) -> Score | None:
        """The score of the only run, or its mean and spread over the seeds."""
        scores = [run.scores.get(metric) for run in self.runs]
        return scores[0] if len(scores) == 1 else average_over_seeds(scores)


def select_metrics(runs: Sequence[Scores], columns: str) -> list[str]:
    """The metrics in `columns`, separated by commas; "" for all that are not of a single label, judging ones first.
    Raises ConfigError for an unknown metric."""
    known = {name: score.higher_is_better for run in runs for name, score in run.scores.items()}
    if not columns:
        overall = dict.fromkeys(name for run in runs for name in run.overall)
        return sorted(overall, key=lambda name: known[name] is None and name not in BASELINES)
    names = [name.strip() for name in columns.split(",")]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"one of {', '.join(known)}"
            raise ConfigError(f"there is no metric {name!r}", where="--columns", hint=hint)
    return names


def render(
    rows: Sequence[ScoreRow], metrics: Sequence[str], labels: Sequence[str], verbose: bool = False
) -> Iterator[RenderableType]:
    """The runs, numbered from 1; a table of scores, with means over seeds in the last columns; reasons for missing
    scores; with `verbose` the signatures. labels: of the runs."""
    runs = [run for row in rows for run in row.runs]
    for number, run in enumerate(runs, start=1):
        yield escape(f"{number}: {run.run}: {run.engine}")
        yield escape(f"   {run.corpus}, protocol {run.protocol}; {run.counted}")
    both = zip(labels, runs, strict=True)
    columns = [ScoreRow(f"{number} {label}", [run]) for number, (label, run) in enumerate(both, start=1)]
    for row in rows:
        if len(row.runs) > 1:
            numbers = [str(number) for number, run in enumerate(runs, start=1) if run in row.runs]
            columns.append(ScoreRow(f"mean of {','.join(numbers)}", row.runs))
    heads = ["metric", *(column.name for column in columns), "n"]
    lines = [format_row(_head(runs, name), [column.score(name) for column in columns]) for name in metrics]
    yield Table("", heads, lines)
    for number, run in enumerate(runs, start=1):
        if run.by_label:
            yield Table(f"{number}: by label", ("label", *CLASS_METRICS, "support"), list(_labels(run)))
    yield from _missing(runs, metrics)
    if verbose:
        yield Text("signatures")
        for name in metrics:
            yield from _signatures(runs, name)


def tabulate(rows: Sequence[ScoreRow], metrics: Sequence[str]) -> Table:
    """A row per setting, a column per metric, and the best comparable scores in bold."""
    runs = [run for row in rows for run in row.runs]
    columns = [[row.score(name) for row in rows] for name in metrics]
    cells = [[_cell(score, "\n{}") for score in column] for column in columns]
    best = {
        (row, place)
        for place, (name, column) in enumerate(zip(metrics, columns, strict=True), start=1)
        for row in _best(column, _scores(runs, name))
    }
    intervals = [score.interval for name in metrics for score in _scores(runs, name)]
    notes = ["Below a score its 95 % interval."] * any(intervals)
    notes += [f"{row.name}: mean ± standard deviation over {len(row.runs)} seeds" for row in rows if row.runs[1:]]
    notes += dict.fromkeys(f"{run.corpus}, {run.counted}" for run in runs)
    heads = ["", *(_head(runs, name) for name in metrics)]
    return Table("", heads, [[row.name, *line] for row, *line in zip(rows, *cells, strict=True)], notes, best)


def list_csv_rows(rows: Sequence[ScoreRow], metrics: Sequence[str]) -> list[Mapping[str, object]]:
    """The rows of a CSV: one per score of a run, with interval, n, method and signature."""
    return [
        {"row": row.name, "run": run.run} | run.scores[name].row()
        for row in rows
        for run in row.runs
        for name in metrics
        if name in run.scores
    ]


def _scores(runs: Sequence[Scores], name: str) -> list[Score]:
    return [run.scores[name] for run in runs if name in run.scores]


def _head(runs: Sequence[Scores], name: str) -> str:
    return name + ARROWS[_scores(runs, name)[0].higher_is_better]


def format_row(name: str, scores: Sequence[Score | None]) -> list[str]:
    """A row of scores: its name, a cell per score, and their n. If n differs, each cell has its own."""
    counts = {score.n for score in scores if score and not isinstance(score, Spread)}
    n = str(counts.pop()) if len(counts) == 1 else ""
    return [name, *(_cell(score, " [{}]", own_n=not n) for score in scores), n]


def _cell(score: Score | None, interval: str, own_n: bool = False) -> str:
    """A score with its interval, if any, formatted by `interval`; and its n on request."""
    if score is None:
        return NONE
    if isinstance(score, Spread):
        return f"{format_number(score.value)} ± {format_number(score.sd)}"
    ends = interval.format(format_interval(*score.interval)) if score.interval else ""
    own = f" n={score.n}" if own_n and score.value is not None else ""
    return f"{format_number(score.value)}{ends}{own}"


def _best(column: Sequence[Score | None], scores: Sequence[Score]) -> list[int]:
    """The rows with the best score, as printed; none if scores do not compare, or there is only one."""
    values = {row: score.value for row, score in enumerate(column) if score and score.value is not None}
    better = scores[0].higher_is_better
    if better is None or len(values) < 2 or len({(drop_recorded(score.signature), score.n) for score in scores}) > 1:
        return []
    best = format_number(max(values.values()) if better else min(values.values()))
    return [row for row, value in values.items() if format_number(value) == best]


def _labels(run: Scores) -> Iterator[list[str]]:
    """A row per label, its support last."""
    for label, scores in run.by_label.items():
        cells = [_cell(scores.get(name), " [{}]") for name in CLASS_METRICS]
        yield [label, *cells, str(scores["recall"].n)]


def _by_run(values: Sequence[str]) -> dict[str, str]:
    """The numbers of the runs that have each value: {"2": "1,3", "0": "2"}."""
    return {value: ",".join(str(n) for n, one in enumerate(values, start=1) if one == value) for value in values}


def _missing(runs: Sequence[Scores], metrics: Sequence[str]) -> Iterator[Text]:
    """Why scores or intervals are missing or mean nothing, a line per reason."""
    reasons = group_by_reason(
        ((why, names), str(number))
        for number, run in enumerate(runs, start=1)
        for why, names in group_by_reason(
            (run.scores[name].why, name) for name in metrics if name in run.scores
        ).items()
        if why
    )
    yield from (escape(f"{numbers}: {names}: {why}") for (why, names), numbers in reasons.items())
    for number, run in enumerate(runs, start=1):
        if run.uncut:
            what = "dist, ead and length mean nothing, as most replies have far fewer tokens than words"
            yield escape(f"{number}: {what}; --tokenizer char splits languages without spaces between words")
        if without := describe_without_logprobs(run.without_usable_logprobs):
            yield escape(f"{number}: {without}")


def _signatures(runs: Sequence[Scores], name: str) -> Iterator[Text]:
    """One line if all runs have the same signature and interval method, else one per variant."""
    scores = [run.scores.get(name) for run in runs]
    signatures = _by_run([s.signature + f" ({s.method})" * bool(s.method) if s else "" for s in scores])
    for text, numbers in signatures.items():
        if text:
            yield escape(f"  {name}{f' of {numbers}' if len(signatures) > 1 else ''}: {text}")
