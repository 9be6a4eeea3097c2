"""Scores as tables: a row a figure and a column a run for a terminal; a row a setting for papers and spreadsheets.

for part in shown([Named("mine", [scores])], ["acc", "dist2"], ["mine"]):
    console.print(part)
as_latex(sheet(named, ["acc", "dist2"]))
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from mmerg.console.tables import ARROWS, NONE, Sheet, between, figure
from mmerg.console.terminal import escape
from mmerg.errors import ConfigError, by_reason, did_you_mean
from mmerg.runs.config_diff import Setting
from mmerg.scoring.answers import describe_improper
from mmerg.scoring.metric import deciding
from mmerg.scoring.score import Score, Scores
from mmerg.scoring.spread import Spread, over


@dataclass(frozen=True)
class Named:
    """Runs that differ in their seeds alone, mostly one, by what a table calls them."""

    name: str
    runs: Sequence[Scores]

    def of(self, metric: str) -> Score | None:
        """The figure of the one run, or its mean and spread over the seeds."""
        found = [run.scores.get(metric) for run in self.runs]
        return found[0] if len(found) == 1 else over(found)


def chosen(runs: Sequence[Scores], wanted: str) -> list[str]:
    """The figures that `wanted` names, separated by commas; "" all, those that judge first. Raises ConfigError for one
    that is not there."""
    known = list(dict.fromkeys(name for run in runs for name in run.scores))
    if not wanted:
        return sorted(known, key=lambda name: _of(runs, name)[0].higher_is_better is None)
    names = [name.strip() for name in wanted.split(",")]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"one of {', '.join(known)}"
            raise ConfigError(f"there is no figure {name!r}", where="--columns", hint=hint)
    return names


def shown(
    named: Sequence[Named],
    names: Sequence[str],
    labels: Sequence[str],
    differing: Sequence[Setting] = (),
    verbose: bool = False,
) -> Iterator[RenderableType]:
    """What a terminal is told: which runs these are, numbered from 1, in which settings they differ, their figures, why
    some are missing, and with `verbose` the signatures. labels: what the runs are called. Behind them stand the means
    of those that are several seeds."""
    runs = [run for one in named for run in one.runs]
    for number, run in enumerate(runs, start=1):
        yield escape(f"{number}: {run.run}: {run.engine}")
        yield escape(f"   {run.corpus}, protocol {run.protocol}; {run.counted}")
    if differing:
        yield Text("settings that differ")
    for setting in differing:
        values = (f"{value} in {of}" for value, of in _by_run(setting.values).items())
        yield escape(f"  {setting.name}: {'; '.join(values)}")
    if len(runs) == 1:
        yield _single(runs[0], names)
    else:
        columns = [
            Named(f"{number} {label}", [run]) for number, (label, run) in enumerate(zip(labels, runs, strict=True), 1)
        ]
        for one in named:
            if len(one.runs) > 1:
                numbers = ",".join(str(number) for number, run in enumerate(runs, start=1) if run in one.runs)
                columns.append(Named(f"mean of {numbers}", one.runs))
        yield _several(columns, runs, names)
    yield from _absent(runs, names)
    if verbose:
        yield Text("signatures")
        for name in names:
            yield from _signatures(runs, name)


def sheet(named: Sequence[Named], names: Sequence[str], title: str = "", label: str = "") -> Sheet:
    """A row for each of `named`, a column a figure, the best of those measured in one way in bold."""
    runs = [run for one in named for run in one.runs]
    columns = [[one.of(name) for one in named] for name in names]
    rows = [(one.name, *(_cell(column[row], "\n") for column in columns)) for row, one in enumerate(named)]
    best = {
        (row, place)
        for place, (name, column) in enumerate(zip(names, columns, strict=True), start=1)
        for row in _best(column, _of(runs, name))
    }
    notes = ["Below a figure its 95 % interval."] * any(score.interval for name in names for score in _of(runs, name))
    notes += [f"{one.name}: mean ± standard deviation over {len(one.runs)} seeds" for one in named if one.runs[1:]]
    notes += dict.fromkeys(f"{run.corpus}, {run.counted}" for run in runs)
    return Sheet(title, ("", *(_head(runs, name) for name in names)), rows, notes, best, label)


def facts(named: Sequence[Named], names: Sequence[str]) -> list[Mapping[str, object]]:
    """A figure a row, with all that stands beside it."""
    return [
        {"row": one.name, "run": run.run} | run.scores[name].row()
        for one in named
        for run in one.runs
        for name in names
        if name in run.scores
    ]


def _by_run(values: Sequence[str]) -> dict[str, str]:
    """The numbers of the runs that have each value: {"2": "1,3", "0": "2"}."""
    return {value: ",".join(str(n) for n, one in enumerate(values, start=1) if one == value) for value in values}


def _head(runs: Sequence[Scores], name: str) -> str:
    return name + ARROWS[_of(runs, name)[0].higher_is_better]


def _single(run: Scores, names: Sequence[str]) -> Sheet:
    rows = [
        (
            _head([run], score.name),
            figure(score.value),
            between(*score.interval) if score.interval else NONE,
            str(score.n),
        )
        for score in (run.scores[name] for name in names)
    ]
    return Sheet("", ("figure", "value", "95 % interval", "n"), rows)


def _several(columns: Sequence[Named], runs: Sequence[Scores], names: Sequence[str]) -> Sheet:
    """A column a run; n once where it is the same for all, else beside each figure."""
    rows = []
    for name in names:
        counts = {score.n for score in _of(runs, name)}
        cells = [_cell(column.of(name), " ", own=len(counts) > 1) for column in columns]
        rows.append((_head(runs, name), *cells, str(counts.pop()) if len(counts) == 1 else ""))
    return Sheet("", ("figure", *(column.name for column in columns), "n"), rows)


def _cell(score: Score | None, before: str, own: bool = False) -> str:
    """A figure with its interval behind `before`: in brackets in one line, bare in a line of its own."""
    if isinstance(score, Spread):
        return f"{figure(score.value)} ± {figure(score.sd)}"
    if score is None:
        return NONE
    ends = between(*score.interval) if score.interval else ""
    ends = f"[{ends}]" if ends and before != "\n" else ends
    return figure(score.value) + f"{before}{ends}" * bool(ends) + f" n={score.n}" * own


def _best(cells: Sequence[Score | None], scores: Sequence[Score]) -> list[int]:
    """The rows with the best figure, as it is printed; none where figures do not compare, or there is one alone."""
    values = [cell.value if cell else None for cell in cells]
    had = [value for value in values if value is not None]
    better = scores[0].higher_is_better
    if better is None or len(had) < 2 or len({(deciding(score.signature), score.n) for score in scores}) > 1:
        return []
    best = figure(max(had) if better else min(had))
    return [row for row, value in enumerate(values) if value is not None and figure(value) == best]


def _absent(runs: Sequence[Scores], names: Sequence[str]) -> Iterator[Text]:
    """Why a figure or an interval is not there, a line a reason."""
    lacking = by_reason(
        ((why, figures), str(number))
        for number, run in enumerate(runs, start=1)
        for why, figures in by_reason((run.scores[name].why, name) for name in names if name in run.scores).items()
        if why
    )
    yield from (escape(f"{numbers}: {figures}: {why}") for (why, figures), numbers in lacking.items())
    for number, run in enumerate(runs, start=1):
        if improper := describe_improper(run.improper):
            yield escape(f"{number}: {improper}")


def _signatures(runs: Sequence[Scores], name: str) -> Iterator[Text]:
    """One line where all runs have one signature and interval; else one a run: their figures are not comparable."""
    told = [f"{s.signature}" + f" ({s.method})" * bool(s.method) if (s := run.scores.get(name)) else "" for run in runs]
    found = _by_run(told)
    for text, numbers in found.items():
        if text:
            yield escape(f"  {name}{f' of {numbers}' if len(found) > 1 else ''}: {text}")


def _of(runs: Sequence[Scores], name: str) -> list[Score]:
    return [run.scores[name] for run in runs if name in run.scores]
