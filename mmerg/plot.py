"""Draws plots of runs: `mmerg plot RUN… [--out DIR] [--only NAME…] [--format png|svg|pdf|both]`.

tone, stance   plan of the selected pass by forecast emotion; goal and tactic only with --only
blame          which agent the auditor blames, by pass
confusion      gold label against forecast
scores         metrics of the runs with their intervals

The last two need `mmerg score RUN` first.
Exit code 0, 1 if nothing could be drawn, 2 if a run cannot be read.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console

from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, plural, run_command, start
from mmerg.errors import ConfigError, group_by_reason
from mmerg.plots import style
from mmerg.plots.blame import UNAUDITED, count_audits, count_blame, draw_blame, iterate_verdicts
from mmerg.plots.dots import draw_scores
from mmerg.plots.matrix import draw_confusion, draw_plans
from mmerg.plots.run_data import RunData, describe_unscored
from mmerg.runs.config_diff import label_runs
from mmerg.runs.inputs import describe_unequal_inputs
from mmerg.runs.manifest import read_run_refs
from mmerg.runs.samples import read_events
from mmerg.runs.trace import SampleTrace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL = ("tone", "stance", "blame", "confusion", "scores")
PLANS = ("tone", "stance", "goal", "tactic")
ENDINGS = {"png": (".png",), "svg": (".svg",), "pdf": (".pdf",), "both": (".png", ".svg")}
Drawn: TypeAlias = "tuple[Figure | None, str]"  # a figure, or None and why there is none


def plot(out: Console, given: argparse.Namespace) -> int:
    """Draws the plots and writes them. Raises RunError if a run cannot be read or a file cannot be written, and
    ConfigError if there is not one label for each run."""
    paths, target = given.runs, given.out or (given.runs[0] / "plots" if len(given.runs) == 1 else Path("plots"))
    if given.labels and (len(given.labels), len(set(given.labels))) != (len(paths), len(paths)):
        what = f"there are {plural(len(paths), 'run')}, but the labels are {', '.join(given.labels)}"
        raise ConfigError(what, where="--labels", hint="give each run its own label, in the order of the runs")
    refs = read_run_refs(paths)
    runs = [RunData(ref, label) for ref, label in zip(refs, given.labels or label_runs(refs), strict=True)]
    if unequal := describe_unequal_inputs(refs, [run.inputs for run in runs]):
        out.print(escape(unequal), soft_wrap=True)
    written = 0
    lacking = []
    with style.styled():
        for name, (figure, why) in _draw(runs, list(dict.fromkeys(given.only))):
            if figure is None:
                lacking.append((why, name))
                continue
            if given.no_title:
                figure.suptitle("")
            for ending in ENDINGS[given.format]:
                path = target / f"{name}{ending}"
                style.write_figure(figure, path)
                out.print(escape(str(path)), soft_wrap=True)
                written += 1
    for why, names in group_by_reason(lacking).items():
        out.print(escape(f"not drawn: {names}: {why}"), soft_wrap=True)
    return 0 if written else 1


def _draw(runs: Sequence[RunData], only: Sequence[str]) -> Iterator[tuple[str, Drawn]]:
    """Yields each figure by its name. With several runs, the name of a figure of one run ends with the run's."""
    for name in only:
        if name == "scores":
            yield name, (draw_scores(runs), describe_unscored(runs))
        else:
            yield from ((f"{name}-{run.ref.run}" if runs[1:] else name, _draw_run(run, name)) for run in runs)


def _draw_run(run: RunData, name: str) -> Drawn:
    ref = run.ref
    if name in PLANS:
        return draw_plans(run, name), f"no sample of {ref.run} has a forecast and a plan with a {name}"
    if name == "blame":
        traces = (SampleTrace(read_events(ref.path, id)) for id in run.results)
        blame = count_blame(ref, (verdict for trace in traces for verdict in iterate_verdicts(trace)))
        audited = any(count_audits(blame)) or UNAUDITED in blame.index
        return draw_blame(blame, run) if audited else None, f"no pass of {ref.run} was audited"
    if not run.scores:
        return None, describe_unscored([run])
    confusion = run.scores.confusion
    figure = draw_confusion(run, confusion) if confusion else None
    return figure, f"no sample of {ref.run} has a label to compare with"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(
        prog="python -m mmerg.plot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: RUN/plots, or ./plots for several runs")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=sorted({*USUAL, *PLANS}), default=USUAL, help="only these plots"
    )
    parser.add_argument("--format", choices=sorted(ENDINGS), default="both", help="default: both, PNG and SVG")
    parser.add_argument("--labels", nargs="+", metavar="LABEL", default=(), help="names of the runs, in order")
    parser.add_argument("--no-title", action="store_true", help="draw no title, for a paper with a caption")
    given = parser.parse_args(arguments)
    return run_command(lambda: plot(console(), given), STARTS_OVER)


if __name__ == "__main__":
    start(main)
