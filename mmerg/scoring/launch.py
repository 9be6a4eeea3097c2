"""Scores runs and prints their table; `score.py` is the command, and `bench.py` ends with it."""

import argparse
from pathlib import Path

from mmerg.console.tables import FORMATS, deliver
from mmerg.console.terminal import plural
from mmerg.errors import ConfigError
from mmerg.runs.config_diff import label_runs
from mmerg.runs.manifest import check_runs
from mmerg.scoring.run_results import read_run
from mmerg.scoring.score_tables import ScoreRow, list_csv_rows, render, select_metrics, tabulate
from mmerg.scoring.scorer import score_run, write_scores
from mmerg.scoring.spread import group_by_setting
from mmerg.scoring.standard import read_options


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the table that `score` prints."""
    parser.add_argument("--verbose", action="store_true", help="print signatures: all that affects a metric")
    parser.add_argument("--columns", metavar="A,B", default="", help="metrics, in this order; default: all")
    table = parser.add_argument_group("tables for papers")
    table.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    table.add_argument("--names", metavar="A,B", default="", help="names of the rows, in the order of the runs")
    table.add_argument("--out", type=Path, metavar="FILE", help="write to FILE instead of printing")


def score(given: argparse.Namespace) -> int:
    """Scores, writes and prints. Raises RunError and ConfigError; for a folder that is no run, before any is scored."""
    abouts, options = check_runs(given.run), read_options(given)
    scores = [write_scores(path, score_run(read_run(path), options)) for path in given.run]
    metrics = select_metrics(scores, given.columns)
    settings = group_by_setting([about.manifest for about in abouts])
    names = label_runs([abouts[places[0]] for places in settings])
    if given.names:
        names = [name.strip() for name in given.names.split(",")]
    if len(names) != len(settings):
        raise ConfigError(
            f"{plural(len(names), 'name')}, but {len(settings)} to name: runs that differ in seed alone share one",
            where=f"--names {given.names}",
            hint="one for each, in the order of the runs, split by commas",
        )
    rows = [ScoreRow(name, [scores[place] for place in places]) for name, places in zip(names, settings, strict=True)]
    ordered = [abouts[place] for places in settings for place in places]
    parts = render(rows, metrics, label_runs(ordered), given.verbose)
    deliver(given.format, given.out, parts, [tabulate(rows, metrics)], list_csv_rows(rows, metrics))
    return 0
