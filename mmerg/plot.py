"""Draws runs: `python -m mmerg.plot RUN… [--out DIR] [--only NAME…] [--format png|svg|pdf|both]`.

tone, stance   the plan of the selected pass by forecast emotion; goal and tactic where --only names them
blame          which agent the auditor blames, by pass
planted        how often it passes what is clean, and finds planted faults
confusion      gold label against forecast
scores         the runs' figures with their intervals
iterations     figures against max_iterations, for runs that differ in it alone
top_k          figures against the number of exemplars, for runs that differ in it alone

The last four need what `mmerg score RUN` writes, planted what `mmerg audit RUN` does.
`--labels` says what the runs are called, else by what tells them apart; `--no-title` leaves the title out.
Exit code: 0, 1 where nothing could be drawn, 2 where a run cannot be read.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console

from mmerg.auditing.planted import read_planted
from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, run_command, start
from mmerg.errors import ConfigError, RunError
from mmerg.plots import blame, curve, dots, matrix, style
from mmerg.plots.scored import caption, measured_apart, read_scored, with_any
from mmerg.runs.config_diff import config_diff
from mmerg.runs.folder import read_results
from mmerg.runs.labels import labels
from mmerg.runs.manifest import About, read_abouts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL = ("tone", "stance", "blame", "planted", "confusion", "scores", "iterations", "top_k")
PLANS = ("tone", "stance", "goal", "tactic")
CURVES: dict[str, curve.Setting] = {"iterations": "max_iterations", "top_k": "top_k"}
FEW = 4  # settings that are named
ENDINGS = {"png": (".png",), "svg": (".svg",), "pdf": (".pdf",), "both": (".png", ".svg")}
_UNSAFE = re.compile(r"[^\w.=+-]+")
Made: TypeAlias = "tuple[Figure | None, str]"


class _Run:
    """label: what it is called in figures; file: the same as part of a file's name. Raises RunError where it cannot be
    read."""

    def __init__(self, about: About, label: str, file: str) -> None:
        self.about, self.label, self.file = about, label, file
        self.results, self.scored = read_results(about.path), read_scored(about)


def plot(out: Console, given: argparse.Namespace) -> int:
    """Draws and writes. Raises RunError where a run cannot be read or a file cannot be written, ConfigError where there
    is not one name a run."""
    paths, called = given.runs, given.labels
    if called and (len(called), len(set(called))) != (len(paths), len(paths)):
        what = f"{len(called)} names for {len(paths)} runs" if len(called) != len(paths) else "two runs have one name"
        raise ConfigError(what, where="--labels", hint="give each run a name of its own, in the order of the runs")
    target = given.out or (paths[0] / "plots" if len(paths) == 1 else Path("plots"))
    abouts = read_abouts(paths)
    runs = []
    files: dict[str, int] = {}
    for about, label in zip(abouts, called or labels(abouts), strict=True):
        file = _UNSAFE.sub("-", label).strip("-.")
        files[file] = files.get(file, 0) + 1
        file += f"-{files[file]}" * (files[file] > 1 or not file)
        runs.append(_Run(about, label, file))
    written = 0
    lacking: dict[str, list[str]] = {}
    with style.styled():
        for name, figure, why in _drawn(runs, list(dict.fromkeys(given.only)), bool(called)):
            if figure is None:
                lacking.setdefault(why, []).append(name)
                continue
            if given.no_title:
                style.untitled(figure)
            for ending in ENDINGS[given.format]:
                path = target / f"{name}{ending}"
                style.write(figure, path)
                out.print(escape(str(path)), soft_wrap=True)
                written += 1
            if why:
                out.print(escape(f"{name}: {why}"), soft_wrap=True)
    for why, names in lacking.items():
        are = "is" if len(names) == 1 else "are"
        out.print(escape(f"{', '.join(names)} {are} not drawn: {why}"), soft_wrap=True)
    return 0 if written else 1


def _drawn(runs: Sequence[_Run], only: Sequence[str], called: bool) -> Iterator[tuple[str, Figure | None, str]]:
    """Each figure by its name, or why there is none; of one that is there, why it is without some of the runs."""
    for name in only:
        if name in CURVES:
            yield name, *_curve(runs, CURVES[name], {run.about.run: run.label for run in runs} if called else {})
        elif name == "scores":
            yield name, *_scores(runs)
        else:
            for run in runs:
                made = _plan(run, name) if name in PLANS else _OF_ONE[name](run)
                yield name if len(runs) == 1 else f"{name}-{run.file}", *made


def _plan(run: _Run, dimension: str) -> Made:
    figure = matrix.draw_plans(run.about, run.results.values(), dimension)
    return figure, "" if figure else f"no sample of {run.about.run} has a forecast and a plan with a {dimension}"


def _blame(run: _Run) -> Made:
    found = blame.read(run.about.path, run.results, tuple(run.about.manifest.setting("system.stages", ())))
    if not found.audits and not any(counts.get(blame.UNAUDITED) for counts in found.passes):
        return None, f"no pass of {run.about.run} came to an audit"
    return blame.draw(found, caption([run.about])), ""


def _planted(run: _Run) -> Made:
    try:
        found = read_planted(run.about.path, run.about.manifest.identity)
    except RunError as error:
        return None, f"{run.about.run}: {error.what}: {error.hint}"
    if not found:
        return None, f"no faults were planted in {run.about.run}: mmerg audit {run.about.path}"
    return dots.planted(found, caption([run.about])), ""


def _confusion(run: _Run) -> Made:
    if not run.scored.scores:
        return None, _unscored([run])
    if not run.scored.scores.confusion:
        return None, f"no sample of {run.about.run} has a label to compare with"
    table = matrix.of_confusion(run.scored.scores.confusion)
    title = f"Gold label against forecast, n={table.n.sum()}"
    return matrix.draw(table, title, caption([run.about]), "gold label", "forecast"), ""


_OF_ONE = {"blame": _blame, "planted": _planted, "confusion": _confusion}


def _scores(runs: Sequence[_Run]) -> Made:
    scored = [run.scored for run in runs]
    if not with_any(scored):
        return None, _unscored(runs) or "no run has a figure"
    return dots.draw(scored, [run.label for run in runs], _caption(runs)), ""


def _curve(runs: Sequence[_Run], setting: curve.Setting, called: Mapping[str, str]) -> Made:
    values = {curve.setting_of(run.about, setting) for run in runs} - {None}
    if len(values) < 2:
        return None, f"it takes runs that differ in {setting}"
    path = f"{curve.NODES[setting]}.{setting}"
    found = curve.curves([run.scored for run in runs], setting, called)
    if not found:
        return None, f"no two runs differ in {path} alone{_apart(runs, path)}"
    scored = [one for made in found for one in made.runs]
    inside = [run for run in runs if run.scored in scored]
    metrics = with_any([run.scored for run in inside])
    if not metrics:
        return None, _unscored(inside) or "no run has a figure"
    paper, told = curve.of_paper(scored, setting) or (None, "")
    figure = curve.draw(found, metrics, setting, " · ".join(filter(None, (_caption(inside), told))), paper)
    outside = ", ".join(run.about.run for run in runs if run not in inside)
    return figure, f"without {outside}: no other run differs in {path} alone" if outside else ""


def _apart(runs: Sequence[_Run], path: str) -> str:
    """In what else they differ, but for the commit, which decides nothing by itself."""
    settings = config_diff([run.about.manifest for run in runs])
    names = [one.name for one in settings if one.name not in (path, "commit")]
    more = [f"{len(names) - FEW} more"] * (len(names) > FEW)
    return f"; they differ in {', '.join([*names[:FEW], *more])}, too" if names else ""


def _unscored(runs: Sequence[_Run]) -> str:
    return "; ".join(f"{run.about.run}: {run.scored.why}" for run in runs if run.scored.why)


def _caption(runs: Sequence[_Run]) -> str:
    """What a figure of several runs is of, and which of them it lacks."""
    missing = sum(run.scored.scores is None for run in runs)
    unscored = f"{missing} of {len(runs)} runs not scored" if missing else ""
    parts = (caption([run.about for run in runs]), measured_apart([run.scored for run in runs]), unscored)
    return " · ".join(part for part in parts if part)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(
        prog="python -m mmerg.plot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write: RUN/plots, or ./plots for several")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=sorted({*USUAL, *PLANS}), default=USUAL, help="these plots alone"
    )
    parser.add_argument("--format", choices=sorted(ENDINGS), default="both", help="both, the default: PNG and SVG")
    parser.add_argument(
        "--labels", nargs="+", metavar="LABEL", default=(), help="what to call the runs, in their order"
    )
    parser.add_argument("--no-title", action="store_true", help="leave the title to the paper's own caption")
    given = parser.parse_args(arguments)
    return run_command(lambda: plot(console(), given), STARTS_OVER)


if __name__ == "__main__":
    start(main)
