"""Compares finished runs, sample by sample: `mmerg compare RUN_A RUN_B [RUN …]`.

Compares each run with the first. Runs that differ only in the seed are averaged. Prints the settings that differ, the
difference of every metric with its 95 % interval, and the smallest difference that this many pairs can detect. Tests
only the primary metrics (acc, dist2 and bert_f1, or those named by --primary), with McNemar's exact test for shares and
a permutation test otherwise, Holm-corrected. `mmerg report RUN RUN` lists the samples that changed. Does not call
the models that wrote the replies, and writes only `--json FILE`.
Exit code 0 compared, 2 the runs cannot be compared or an option is wrong, 130 interrupted.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from mmerg.console.terminal import STARTS_OVER, Parser, console, run_command, start
from mmerg.runs.config_diff import label_runs
from mmerg.runs.manifest import read_run_refs
from mmerg.scoring.compare_tables import render
from mmerg.scoring.comparisons import DRAWS, PRIMARY, compare_sides, form_sides
from mmerg.scoring.run_results import read_run
from mmerg.scoring.standard import add_arguments, read_options
from mmerg.storage.files import write_output
from mmerg.storage.record import to_json


def compare(given: argparse.Namespace) -> int:
    """Compares all runs with the first, prints, and writes JSON. Raises RunError and ConfigError."""
    options, out = read_options(given), console()
    runs = [read_run(ref.path) for ref in read_run_refs([given.baseline, *given.run])]
    first, *others = form_sides(runs)
    with Console(stderr=True).status(f"comparing {len(runs)} runs"):
        compared = compare_sides(first, others, options)
    labels = {run.run: label for run, label in zip(runs, label_runs(runs), strict=True)}
    for part in render(compared, labels, given.verbose):
        out.print(part, soft_wrap=isinstance(part, Text))
    if given.json:
        write_output(given.json, to_json(compared))
    return 0


def main(arguments_given: Sequence[str] | None = None) -> int:
    parser = Parser(prog="python -m mmerg.compare", description=__doc__)
    parser.add_argument("baseline", type=Path, metavar="RUN_A", help="a run folder")
    parser.add_argument("run", type=Path, nargs="+", metavar="RUN_B", help="runs to compare with the first")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all comparisons to FILE")
    parser.add_argument("--verbose", action="store_true", help="print signatures, and the methods of intervals")
    primary = "a metric to test; may be repeated; default: " + ", ".join(PRIMARY)
    parser.add_argument("--primary", metavar="NAME", action="append", default=[], help=primary)
    add_arguments(parser, DRAWS)
    given = parser.parse_args(arguments_given)
    return run_command(lambda: compare(given), STARTS_OVER)


if __name__ == "__main__":
    start(main)
