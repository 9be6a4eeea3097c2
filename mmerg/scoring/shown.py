"""Scores as tables for a terminal: a row a run, each figure with its interval and n, then how each was had.

for part in shown([scores]):
    console.print(part)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.text import Text

from mmerg.console.terminal import escape
from mmerg.runs.config_diff import Setting
from mmerg.scoring.answers import describe_improper
from mmerg.scoring.fitting import Cell, Fitting
from mmerg.scoring.score import Score, Scores

_ARROWS = {True: " ↑", False: " ↓", None: ""}


def shown(
    runs: Sequence[Scores], differing: Sequence[Setting] = (), labels: Sequence[str] = ()
) -> Iterator[RenderableType]:
    """What there is to print of `runs`, numbered from 1: which they are, in which settings they differ, their figures,
    what has none, signatures. labels: what several runs are called in the tables, beside their numbers."""
    called = labels if len(runs) > 1 else ()
    for number, run in enumerate(runs, start=1):
        yield escape(_heading(number, run))
    if differing:
        yield Text("settings that differ")
    for setting in differing:
        yield escape(f"  {setting.name}: {_by_run(setting.values)}")
    names = list(dict.fromkeys(name for run in runs for name in run.scores))
    judging = [name for name in names if _of(runs, name)[0].higher_is_better is not None]
    for kind in (judging, [name for name in names if name not in judging]):
        if kind:
            yield _table(runs, kind, called)
    yield from _absent(runs)
    yield Text("signatures")
    for name in names:
        yield from _signatures(runs, name)


def _heading(number: int, run: Scores) -> str:
    unfinished = (
        f"; unfinished: {run.unfinished} of the protocol's samples have no result yet" if run.unfinished else ""
    )
    return f"{number}: {run.run}: {run.engine}\n   {run.corpus}, protocol {run.protocol}; {run.counted}{unfinished}"


def _by_run(values: Sequence[str]) -> str:
    """2 in 1,3; 0 in 2"""
    runs = {value: [str(number) for number, one in enumerate(values, start=1) if one == value] for value in values}
    return "; ".join(f"{value} in {','.join(numbers)}" for value, numbers in runs.items())


def _table(runs: Sequence[Scores], columns: Sequence[str], labels: Sequence[str]) -> Fitting:
    named = labels or [""] * len(runs)
    called = [escape(f"{number} {label}".strip()) for number, label in enumerate(named, start=1)]
    heads: list[Cell] = ["run", *(escape(name + _ARROWS[_of(runs, name)[0].higher_is_better]) for name in columns)]
    rows: list[list[Cell]] = [
        [name, *(_cell(run.scores.get(column)) for column in columns)] for name, run in zip(called, runs, strict=True)
    ]
    return Fitting(heads, rows, numbered=not labels, lines=box.HEAVY_HEAD)


def _cell(score: Score | None) -> Text:
    if score is None:
        return Text("–")
    if score.value is None:
        return Text(f"–\nn={score.n}")
    between = f"[{figure(score.interval[0])}, {figure(score.interval[1])}]" if score.interval else "–"
    return Text(f"{figure(score.value)}\n{between}\nn={score.n}")


def figure(value: float | None) -> str:
    """Two decimals, none from a thousand on; – where there is none."""
    if value is None:
        return "–"
    return f"{value:.2f}" if abs(value) < 1000 else f"{value:,.0f}"


def signed(value: float | None) -> str:
    """A difference: as `figure`, with its sign."""
    return f"+{figure(value)}" if value is not None and value >= 0 else figure(value)


def _absent(runs: Sequence[Scores]) -> Iterator[Text]:
    """Why a figure or an interval is not there."""
    for number, run in enumerate(runs, start=1):
        reasons: dict[str, list[str]] = {}
        for score in run.scores.values():
            if score.why:
                reasons.setdefault(score.why, []).append(score.name)
        for why, names in reasons.items():
            yield escape(f"{number}: {', '.join(names)}: {why}")
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


def _of(runs: Sequence[Scores], name: str) -> list[Score]:
    return [run.scores[name] for run in runs if name in run.scores]
