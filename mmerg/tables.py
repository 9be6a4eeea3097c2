"""Prints the papers' tables beside your runs: `mmerg tables [TABLE …] [RUN …]`.

Tables: main (the default), ablations, iterations, topk, backbones (MERG), trace, hef. Without RUN, all scored runs
under `--runs` on the table's dataset are used. Runs are below the paper's rows, each value with its interval and n. No
run is tested against a paper, since the papers do not fully say how they measured.
Exit code 0 printed, 2 a run or an option is wrong, 130 interrupted.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mmerg.console.tables import FORMATS, write_tables
from mmerg.console.terminal import STARTS_OVER, Parser, printable, run_command, start
from mmerg.errors import ConfigError, RunError
from mmerg.paper.published import NAMES, PaperTable, published
from mmerg.papertables.table import RunTable, add_runs, format_table, list_csv_rows
from mmerg.papertables.table_run import TableRun, get_dataset, read_table_run, select_judge
from mmerg.runs.manifest import MANIFEST, check_runs, read_any_manifest


def tables(given: argparse.Namespace) -> int:
    """Prints or writes the tables. Raises ConfigError and RunError."""
    names = [name for name in NAMES if name in given.words] or ["main"]
    papers = {name: published(name) for name in names}
    paths = [Path(word) for word in given.words if word not in NAMES]
    for path in paths:
        if not path.exists():
            hint = f"tables: {', '.join(NAMES)}; for runs see `ls runs/`"
            raise ConfigError(f"{path} is neither a table nor a run folder", where="arguments", hint=hint)
    datasets = {paper.dataset for several in papers.values() for paper in several}
    skipped: list[str] = []
    if paths:
        runs = [read_table_run(ref.path) for ref in check_runs(paths)]
    else:
        runs, skipped = _scored(given.runs, datasets)
    if given.judge:
        runs = select_judge(runs, given.judge)
    drawn: list[RunTable] = []
    for several in papers.values():
        # A run is in the tables of its dataset, or in all if there are none.
        placed = [(paper, [run for run in runs if _belongs_to(run, paper, datasets)]) for paper in several]
        none = not any(own for _, own in placed)
        drawn += [add_runs(paper, own) for paper, own in placed if own or none]
    shown = list(map(format_table, drawn))
    write_tables(given.format, given.out, shown, shown, (row for table in drawn for row in list_csv_rows(table)))
    for line in skipped:
        print(printable(f"skipped: {line}"), file=sys.stderr)  # noqa: T201
    return 0


def _belongs_to(run: TableRun, paper: PaperTable, datasets: set[str]) -> bool:
    return (dataset := get_dataset(run.manifest)) == paper.dataset or dataset not in datasets


def _scored(folder: Path, datasets: set[str]) -> tuple[list[TableRun], list[str]]:
    """Returns the scored runs of these datasets in a folder, and why others are skipped."""
    runs, skipped = [], []
    files = sorted(folder.glob(f"*/{MANIFEST}"), reverse=True)
    for path in sorted({file.parent.resolve(): file.parent for file in files}.values()):  # a link is the run itself
        try:
            if get_dataset(read_any_manifest(path)) in datasets:
                runs.append(read_table_run(path))
        except RunError as error:
            skipped.append(str(error))
    return runs, skipped


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="python -m mmerg.tables", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="TABLE|RUN", help=f"{', '.join(NAMES)}; run folders")
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("--judge", metavar="NAME", help="which judge to use if a run has several: MODEL@RUBRIC")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the runs; default: runs")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to FILE instead of printing")
    given = parser.parse_intermixed_args(arguments)
    return run_command(lambda: tables(given), STARTS_OVER)


if __name__ == "__main__":
    start(main)
