"""Draws plots of a run: `mmerg plot RUN [--out DIR] [--only NAME…] [--format png|svg|pdf|both]`.

tone, stance   plan of the selected pass by forecast emotion; goal and tactic only with --only
blame          which agent the auditor blames, by pass
confusion      gold label against forecast; needs `mmerg score RUN` first

For plots of scores see `mmerg.load(RUN).scores` (docs/tidy.md).
Exit code 0, 1 if nothing could be drawn, 2 if the run cannot be read.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, run_command, start
from mmerg.errors import group_by_reason
from mmerg.plots import style
from mmerg.plots.blame import UNAUDITED, count_audits, count_blame, draw_blame, iterate_verdicts
from mmerg.plots.matrix import draw_confusion, draw_plans
from mmerg.plots.run_data import RunData
from mmerg.runs.manifest import RunRef, read_manifest
from mmerg.runs.samples import read_events
from mmerg.runs.trace import SampleTrace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL = ("tone", "stance", "blame", "confusion")
PLANS = ("tone", "stance", "goal", "tactic")
ENDINGS = {"png": (".png",), "svg": (".svg",), "pdf": (".pdf",), "both": (".png", ".svg")}


def plot(out: Console, given: argparse.Namespace) -> int:
    """Draws the plots and writes them. Raises RunError if the run cannot be read or a file cannot be written."""
    run = RunData(RunRef(given.run, read_manifest(given.run)))
    folder = given.out or given.run / "plots"
    written, lacking = 0, []
    with style.styled():
        for name in dict.fromkeys(given.only):
            figure, why = _draw(run, name)
            if figure is None:
                lacking.append((why, name))
                continue
            if given.no_title:
                figure.suptitle("")
            for ending in ENDINGS[given.format]:
                path = folder / f"{name}{ending}"
                style.write_figure(figure, path)
                out.print(escape(str(path)), soft_wrap=True)
                written += 1
    for why, names in group_by_reason(lacking).items():
        out.print(escape(f"not drawn: {names}: {why}"), soft_wrap=True)
    return 0 if written else 1


def _draw(run: RunData, name: str) -> tuple[Figure | None, str]:
    """Draws a plot. Returns the figure, or None and why there is none."""
    if name in PLANS:
        return draw_plans(run, name), f"no sample has a forecast and a plan with a {name}"
    if name == "blame":
        traces = (SampleTrace(read_events(run.ref.path, id)) for id in run.results)
        blame = count_blame(run.ref, (verdict for trace in traces for verdict in iterate_verdicts(trace)))
        audited = any(count_audits(blame)) or UNAUDITED in blame.index
        return draw_blame(blame, run) if audited else None, "no pass was audited"
    if not run.scores:
        return None, run.unscored
    confusion = run.scores.confusion
    return draw_confusion(run, confusion) if confusion else None, "no sample has a label to compare with"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(
        prog="python -m mmerg.plot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="a run folder")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: RUN/plots")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=sorted({*USUAL, *PLANS}), default=USUAL, help="only these plots"
    )
    parser.add_argument("--format", choices=sorted(ENDINGS), default="both", help="default: both, PNG and SVG")
    parser.add_argument("--no-title", action="store_true", help="draw no title, for a paper with a caption")
    given = parser.parse_args(arguments)
    return run_command(lambda: plot(console(), given), STARTS_OVER)


if __name__ == "__main__":
    start(main)
