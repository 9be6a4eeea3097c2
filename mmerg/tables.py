"""Prints the papers' tables beside your runs: `mmerg tables [TABLE …] [RUN …]`.

Tables: main (the default), ablations, iterations, topk, backbones (MERG), trace, hef. Runs are below the paper's rows,
each value with its interval and n; a run is in the tables of its dataset, or in all tables if none has its dataset. No
run is tested against a paper, since the papers do not fully say how they measured.
Exit code 0 printed, 2 a run or an option is wrong, 130 interrupted.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from mmerg.console.tables import FORMATS, write_tables
from mmerg.console.terminal import STARTS_OVER, Parser, run_command, start
from mmerg.errors import ConfigError
from mmerg.paper.published import NAMES, published
from mmerg.papertables.table import add_runs, format_table, list_csv_rows
from mmerg.papertables.table_run import read_table_run, select_judge


def tables(given: argparse.Namespace) -> int:
    """Prints or writes the tables. Raises ConfigError and RunError."""
    names = [name for name in NAMES if name in given.words] or ["main"]
    papers = [paper for name in names for paper in published(name)]
    paths = [Path(word) for word in given.words if word not in NAMES]
    for path in paths:
        if not path.exists():
            hint = f"tables: {', '.join(NAMES)}; for runs see `ls runs/`"
            raise ConfigError(f"{path} is neither a table nor a run folder", where="arguments", hint=hint)
    runs = [read_table_run(path) for path in {path.resolve(): path for path in paths}.values()]
    if given.judge:
        runs = select_judge(runs, given.judge)
    datasets = {paper.dataset for paper in papers}
    drawn = []
    for paper in papers:
        own = [run for run in runs if run.dataset == paper.dataset or run.dataset not in datasets]
        if own or not runs:
            drawn.append(add_runs(paper, own))
    shown = list(map(format_table, drawn))
    write_tables(given.format, given.out, shown, shown, (row for table in drawn for row in list_csv_rows(table)))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="python -m mmerg.tables", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="TABLE|RUN", help=f"{', '.join(NAMES)}; run folders")
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("--judge", metavar="NAME", help="which judge to use if a run has several: MODEL@RUBRIC")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to FILE instead of printing")
    given = parser.parse_intermixed_args(arguments)
    return run_command(lambda: tables(given), STARTS_OVER)


if __name__ == "__main__":
    start(main)
