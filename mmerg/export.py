"""Exports runs as Parquet files for pandas, DuckDB and others: `python -m mmerg.export RUN… [--out DIR] [--prompts]`.

Writes samples.parquet, passes.parquet and calls.parquet, each with the rows of all given runs; docs/export.md lists the
columns. Reads run folders alone; scores are not in it. `--prompts` adds to each
call what was sent, which makes the file many times larger.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, run_command, tolerate_closed_output
from mmerg.exporting.rows import rows_of
from mmerg.exporting.tables import Tables
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import About, read_abouts
from mmerg.runs.samples import read_events


def export(out: Console, paths: Sequence[Path], folder: Path | None, prompts: bool) -> int:
    """Writes the tables. Raises RunError where a run cannot be read or a file cannot be written."""
    abouts = read_abouts(paths)
    target = folder or (paths[0] / "export" if len(paths) == 1 else Path("export"))
    with Tables(target, prompts) as tables:
        for about in abouts:
            untold = _add(tables, about, prompts)
            if untold:
                out.print(escape(f"{about.run}: there are no events of {untold} samples: no passes, no calls"))
    for path, count in tables.told().items():
        out.print(escape(f"{path}: {count} rows"), soft_wrap=True)
    return 0


def _add(tables: Tables, about: About, prompts: bool) -> int:
    """Adds a run; returns how many of its samples have a result and no events."""
    results = read_results(about.path)
    untold = 0
    for result in results.values():
        found = read_events(about.path, result.id)
        untold += not found
        tables.add(about, rows_of(result, found, prompts))
    return untold


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.export", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write: RUN/export, or ./export for several")
    parser.add_argument("--prompts", action="store_true", help="add to each call its messages and its schema")
    given = parser.parse_args(arguments)
    return run_command(lambda: export(console(), given.runs, given.out, given.prompts), STARTS_OVER)


if __name__ == "__main__":
    tolerate_closed_output()
    sys.exit(main())
