"""Scores as tables: a row a figure and a column a run for a terminal; a row a setting for papers and spreadsheets.

for part in shown([scores]):
    console.print(part)
as_latex(sheet(named, ["acc", "dist2"]))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from mmerg.console.tables import ARROWS, NONE, Sheet, between, figure
from mmerg.console.terminal import escape
from mmerg.errors import ConfigError, did_you_mean
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

    def of(self, metric: str) -> Score | Spread | None:
        """The figure of the one run, or its mean and spread over the seeds."""
        found = [run.scores.get(metric) for run in self.runs]
        return found[0] if len(found) == 1 else over(found)


def chosen(runs: Sequence[Scores], wanted: str) -> list[str]:
    """The figures that `wanted` names, separated by commas; "" all. Raises ConfigError for one that is not there."""
    known = list(dict.fromkeys(name for run in runs for name in run.scores))
    judging = [name for name in known if _of(runs, name)[0].higher_is_better is not None]
    names = [name.strip() for name in wanted.split(",")] if wanted else known
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"one of {', '.join(known)}"
            raise ConfigError(f"there is no figure {name!r}", where="--columns", hint=hint)
    return names if wanted else [*judging, *(name for name in known if name not in judging)]


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
        yield escape(_heading(number, run))
    if differing:
        yield Text("settings that differ")
    for setting in differing:
        yield escape(f"  {setting.name}: {_by_run(setting.values)}")
    numbered = enumerate(zip(labels, runs, strict=True), start=1)
    columns = [Named(f"{number} {label}", [run]) for number, (label, run) in numbered]
    seeds = [Named(f"mean of {_numbers(one.runs, runs)}", one.runs) for one in named if len(one.runs) > 1]
    yield _single(runs[0], names) if len(runs) == 1 else _several([*columns, *seeds], runs, names)
    yield from _absent(runs, names)
    if verbose:
        yield Text("signatures")
        for name in names:
            yield from _signatures(runs, name)


def sheet(named: Sequence[Named], names: Sequence[str], title: str = "", label: str = "") -> Sheet:
    """A row for each of `named`, a column a figure, the best of those measured in one way in bold."""
    runs = [run for one in named for run in one.runs]
    found = [[one.of(name) for name in names] for one in named]
    rows = [(one.name, *(_lines(score) for score in scores)) for one, scores in zip(named, found, strict=True)]
    best = {
        (row, column + 1)
        for column, name in enumerate(names)
        for row in _best([scores[column] for scores in found], _of(runs, name))
    }
    counts = dict.fromkeys(f"{run.corpus}, {run.counted}" for run in runs)
    several = [f"{one.name}: mean ± standard deviation over {len(one.runs)} seeds" for one in named if one.runs[1:]]
    below = (
        "Below a figure its 95 % interval."
        if any(score.interval for run in runs for score in _figures(run, names))
        else ""
    )
    return Sheet(title, ("", *_heads(runs, names)), rows, [*filter(None, [below]), *several, *counts], best, label)


def facts(named: Sequence[Named], names: Sequence[str]) -> list[Mapping[str, object]]:
    """A figure a row, with all that stands beside it."""
    return [
        {"row": one.name, "run": run.run} | run.scores[name].row()
        for one in named
        for run in one.runs
        for name in names
        if name in run.scores
    ]


def _heading(number: int, run: Scores) -> str:
    return f"{number}: {run.run}: {run.engine}\n   {run.corpus}, protocol {run.protocol}; {run.counted}"


def _numbers(some: Sequence[Scores], runs: Sequence[Scores]) -> str:
    return ",".join(str(number) for number, run in enumerate(runs, start=1) if run in some)


def _by_run(values: Sequence[str]) -> str:
    """2 in 1,3; 0 in 2"""
    runs = {value: [str(number) for number, one in enumerate(values, start=1) if one == value] for value in values}
    return "; ".join(f"{value} in {','.join(numbers)}" for value, numbers in runs.items())


def _heads(runs: Sequence[Scores], names: Sequence[str]) -> list[str]:
    return [name + ARROWS[_of(runs, name)[0].higher_is_better] for name in names]


def _single(run: Scores, names: Sequence[str]) -> Sheet:
    rows = [
        (head, figure(score.value), between(*score.interval) if score.interval else NONE, str(score.n))
        for head, score in zip(_heads([run], names), _figures(run, names), strict=True)
    ]
    return Sheet("", ("figure", "value", "95 % interval", "n"), rows)


def _several(columns: Sequence[Named], runs: Sequence[Scores], names: Sequence[str]) -> Sheet:
    """A column a run; n once where it is the same for all."""
    rows = []
    for name, head in zip(names, _heads(runs, names), strict=True):
        counts = {score.n for score in _of(runs, name)}
        cells = [_line(column.of(name), own=len(counts) > 1) for column in columns]
        rows.append((head, *cells, str(counts.pop()) if len(counts) == 1 else ""))
    return Sheet("", ("figure", *(column.name for column in columns), "n"), rows)


def _line(score: Score | Spread | None, own: bool) -> str:
    """A figure with its interval in one line; with its `own` n where others have another."""
    if isinstance(score, Score):
        ends = f" [{between(*score.interval)}]" if score.interval else ""
        return f"{figure(score.value)}{ends}" + f" n={score.n}" * own
    return f"{figure(score.mean)} ± {figure(score.sd)}" if score else NONE


def _lines(score: Score | Spread | None) -> str:
    """The same with its interval below."""
    if isinstance(score, Score):
        return "\n".join([figure(score.value), *([between(*score.interval)] if score.interval else [])])
    return f"{figure(score.mean)} ± {figure(score.sd)}" if score else NONE


def _best(cells: Sequence[Score | Spread | None], scores: Sequence[Score]) -> list[int]:
    """The rows with the best figure, as it is printed; none where figures do not compare, or there is one alone."""
    values = [cell.mean if isinstance(cell, Spread) else cell.value if cell else None for cell in cells]
    had = [value for value in values if value is not None]
    better = scores[0].higher_is_better
    if better is None or len(had) < 2 or len({(deciding(score.signature), score.n) for score in scores}) > 1:
        return []
    best = figure(max(had) if better else min(had))
    return [row for row, value in enumerate(values) if value is not None and figure(value) == best]


def _absent(runs: Sequence[Scores], names: Sequence[str]) -> Iterator[Text]:
    """Why a figure or an interval is not there, a line a reason."""
    reasons: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for number, run in enumerate(runs, start=1):
        for why in dict.fromkeys(score.why for score in _figures(run, names) if score.why):
            those = tuple(score.name for score in _figures(run, names) if score.why == why)
            reasons.setdefault(why, {}).setdefault(those, []).append(str(number))
    for why, found in reasons.items():
        for those, numbers in found.items():
            yield escape(f"{','.join(numbers)}: {', '.join(those)}: {why}")
    for number, run in enumerate(runs, start=1):
        if improper := describe_improper(run.improper):
            yield escape(f"{number}: {improper}")


def _signatures(runs: Sequence[Scores], name: str) -> Iterator[Text]:
    """One line where all runs have one signature and interval; else one a run: their figures are not comparable."""
    told = [
        (f"{s.signature}" + f" ({s.method})" * bool(s.method) if (s := run.scores.get(name)) else "") for run in runs
    ]
    for text in dict.fromkeys(told):
        of = ",".join(str(number) for number, other in enumerate(told, start=1) if other == text)
        if text:
            yield escape(f"  {name}{f' of {of}' if len(set(told)) > 1 else ''}: {text}")


def _figures(run: Scores, names: Sequence[str]) -> list[Score]:
    return [run.scores[name] for name in names if name in run.scores]


def _of(runs: Sequence[Scores], name: str) -> list[Score]:
    return [run.scores[name] for run in runs if name in run.scores]
