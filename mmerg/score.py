"""Scores finished runs: `python -m mmerg.score RUN [RUN …]`; prints every figure with its n and interval.

Writes scores.json into each run folder and calls no model that wrote replies. Figures that need a model of their own
(`--bert`, `--ref-ppl`) need `pip install 'mmerg[metrics]'`; those scored before are kept while answers stay the same.
`--format` gives a table for a paper or a spreadsheet, a row a setting: `--columns acc,dist2` chooses figures, `--names
"MERG,without memory"` names the rows. Runs that differ in their seeds alone are one row, or have their mean beside.
Exit code 0 scored, 2 a run or an option is wrong, 130 interrupted.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from mmerg.console.tables import FORMATS, deliver
from mmerg.console.terminal import STARTS_OVER, Parser, run_command, start
from mmerg.errors import ConfigError
from mmerg.runs.config_diff import alike_but_for, config_diff
from mmerg.runs.labels import labels
from mmerg.runs.manifest import About, check_runs
from mmerg.scoring.answers import read_run
from mmerg.scoring.arguments import add_arguments, options_of
from mmerg.scoring.score import Scores
from mmerg.scoring.scorer import score_run, write_scores
from mmerg.scoring.shown import Named, chosen, facts, sheet, shown
from mmerg.scoring.standard import Options


def score(given: argparse.Namespace, options: Options) -> int:
    """Score, write and print. Raises RunError and ConfigError, for a folder that is no run before any is scored."""
    abouts = check_runs(given.run)
    scores = [write_scores(path, score_run(read_run(path), options)) for path in given.run]
    names = chosen(scores, given.columns)
    groups = _settings(abouts)
    named = _named(abouts, scores, groups, given.names)
    ordered = [abouts[place] for places in groups for place in places]
    parts = shown(named, names, labels(ordered), config_diff([about.manifest for about in ordered]), given.verbose)
    deliver(given.format, given.out, parts, [sheet(named, names, given.caption, given.label)], facts(named, names))
    return 0


def _settings(abouts: Sequence[About]) -> list[list[int]]:
    """The places of the runs by setting: those that differ in their seeds alone are of one."""
    found: dict[tuple[str, int], dict[int, int]] = {}
    for place, about in enumerate(abouts):
        alike, seed = alike_but_for(about.manifest, "seed"), about.manifest.setting("seed", 0)
        again = seed in found.get((alike, 0), ())
        found.setdefault((alike, place * again), {})[seed] = place
    return [list(places.values()) for places in found.values()]


def _named(abouts: Sequence[About], scores: Sequence[Scores], groups: list[list[int]], names: str) -> list[Named]:
    """The runs by setting, each with its own name or the given one. Raises ConfigError for another number of names."""
    called = labels([abouts[places[0]] for places in groups])
    given = [name.strip() for name in names.split(",")] if names else called
    if len(given) != len(groups):
        what = f"{len(given)} names, but {len(groups)} to name: runs that differ in their seed alone share one"
        raise ConfigError(
            what, where=f"--names {names}", hint="one for each, in the order of the runs, split by commas"
        )
    return [Named(name, [scores[place] for place in places]) for name, places in zip(given, groups, strict=True)]


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.score", description=__doc__)
    parser.add_argument("run", type=Path, nargs="+", metavar="RUN", help="a run folder, such as runs/demo-merg-…")
    parser.add_argument("--verbose", action="store_true", help="print signatures: all that decides a figure")
    parser.add_argument("--columns", metavar="A,B", default="", help="figures, in this order; default: all")
    table = parser.add_argument_group("tables for papers")
    table.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    table.add_argument("--names", metavar="A,B", default="", help="of the rows, in the order of the runs")
    table.add_argument("--label", metavar="NAME", default="", help="of the LaTeX table: tab:results")
    table.add_argument("--caption", metavar="TEXT", default="", help="above the table")
    table.add_argument("--out", type=Path, metavar="FILE", help="write there in place of printing")
    add_arguments(parser)
    given = parser.parse_args(argv)
    return run_command(lambda: score(given, options_of(given)), STARTS_OVER)


if __name__ == "__main__":
    start(main)
