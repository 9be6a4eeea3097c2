"""The scores of runs and their table; `score.py` is the command, and `bench.py` ends with it."""

import argparse
from pathlib import Path

from mmerg.console.tables import FORMATS, write_tables
from mmerg.console.terminal import plural
from mmerg.errors import ConfigError
from mmerg.runs.config_diff import label_runs
from mmerg.runs.inputs import describe_unequal_inputs
from mmerg.runs.manifest import RunRef, read_manifest
from mmerg.scoring.run_results import read_run
from mmerg.scoring.score_tables import ScoreRow, list_csv_rows, render, select_metrics, tabulate
from mmerg.scoring.scorer import score_run, write_scores
from mmerg.scoring.spread import group_by_setting
from mmerg.scoring.standard import read_options


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verbose", action="store_true", help="print signatures: all that affects a metric")
    parser.add_argument("--columns", metavar="A,B", default="", help="metrics, in this order; default: all")
    table = parser.add_argument_group("tables for papers")
    table.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    table.add_argument("--names", metavar="A,B", default="", help="names of the rows, in the order of the runs")
    table.add_argument("--out", type=Path, metavar="FILE", help="write to FILE instead of printing")


def score(given: argparse.Namespace) -> int:
    """Scores the runs, writes their scores, and prints or writes the table. Returns the exit code. Raises ConfigError
    for an invalid option, and RunError if a run cannot be read; before any is scored if a folder is not a run."""
    paths = {path.resolve(): path for path in given.run}.values()  # a run that is named twice counts once
    refs, options = [RunRef(path, read_manifest(path)) for path in paths], read_options(given)
    scores = [write_scores(path, score_run(read_run(path), options)) for path in paths]
    metrics = select_metrics(scores, given.columns)
    settings = group_by_setting([ref.manifest for ref in refs])
    names = label_runs([refs[indices[0]] for indices in settings])
    if given.names:
        names = [name.strip() for name in given.names.split(",")]
    if len(names) != len(settings):
        raise ConfigError(
            f"{plural(len(names), 'name')} for {plural(len(settings), 'row')}: runs with other seeds share a row",
            where=f"--names {given.names}",
            hint="give a name per row, in the order of the runs, separated by commas",
        )
    rows = [ScoreRow(name, [scores[index] for index in indices]) for name, indices in zip(names, settings, strict=True)]
    ordered = [refs[index] for indices in settings for index in indices]
    unequal = describe_unequal_inputs(refs, [scored.inputs for scored in scores])
    parts = render(rows, metrics, label_runs(ordered), given.verbose, unequal)
    write_tables(given.format, given.out, parts, [tabulate(rows, metrics, unequal)], list_csv_rows(rows, metrics))
    return 0
