"""Compares finished runs, sample by sample: `mmerg compare RUN_A RUN_B [RUN …]`.

Each run is held against the first; runs that differ in their seeds alone are one setting, and a figure their mean.
Prints the settings that differ, the difference of every figure with its 95 % interval, and the smallest difference that
so many pairs can show. Only the primary figures (acc, dist2, bert_f1, or those named by --primary) are tested: p by
McNemar's exact test (shares) or a permutation test, corrected by Holm for all that is tested. `mmerg show RUN RUN`
lists the samples that changed. Calls no model that wrote replies and writes nothing but `--json FILE`.
Exit code 0 compared, 2 runs that cannot be compared or a wrong option, 130 interrupted.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from mmerg.console.terminal import STARTS_OVER, Parser, console, run_command, start
from mmerg.errors import ConfigError
from mmerg.runs.config_diff import labels
from mmerg.runs.manifest import read_abouts
from mmerg.scoring.answers import read_run
from mmerg.scoring.compare_tables import terminal
from mmerg.scoring.comparisons import DRAWS, PRIMARY, by_setting, compare_sides
from mmerg.scoring.standard import add_arguments, options_of
from mmerg.storage.files import write_output
from mmerg.storage.record import text_of


def compare(given: argparse.Namespace) -> int:
    """Compare all runs with the first, print, and keep as JSON. Raises RunError and ConfigError."""
    options, out = options_of(given), console()
    if len(given.run) < 2:
        raise ConfigError("one run alone cannot be compared", where="arguments", hint="give two runs or more")
    runs = [read_run(about.path) for about in read_abouts(given.run)]
    first, *others = by_setting(runs)
    progress = Console(stderr=True)
    if not progress.is_terminal:
        progress.print(f"comparing {len(runs)} runs …")
    with progress.status("comparing"):
        compared = compare_sides(first, others, options)
    called = {run.run: label for run, label in zip(runs, labels(runs), strict=True)}
    for part in terminal(compared, called, given.verbose):
        out.print(part, soft_wrap=isinstance(part, Text))
    if given.json:
        write_output(given.json, text_of(compared))
    return 0


def main(arguments_given: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.compare", description=__doc__)
    parser.add_argument("run", type=Path, nargs="+", metavar="RUN", help="run folders; the first is the baseline")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all comparisons there, too")
    parser.add_argument("--verbose", action="store_true", help="print signatures, and how each figure is computed")
    primary = "a figure to test; may be given several times, default: " + ", ".join(PRIMARY)
    parser.add_argument("--primary", metavar="NAME", action="append", default=[], help=primary)
    add_arguments(parser, DRAWS)
    given = parser.parse_args(arguments_given)
    return run_command(lambda: compare(given), STARTS_OVER)


if __name__ == "__main__":
    start(main)
