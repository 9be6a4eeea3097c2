"""Exports runs as Parquet files for pandas, DuckDB or R: `mmerg export RUN… [--out DIR] [--prompts]`.

Writes the six tables of `mmerg.load` with the rows of all given runs; docs/tidy.md lists their columns. Scores and
verdicts come from earlier calls of `mmerg score` and `mmerg judge`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, run_command, start
from mmerg.errors import RunError
from mmerg.runs.manifest import RunRef, read_run_refs
from mmerg.storage.files import private_folder, replacing, writing
from mmerg.tidy.frames import batches, schema
from mmerg.tidy.tables import OF_RUN, PROMPTS, TABLES, Columns


def export(out: Console, paths: Sequence[Path], folder: Path | None, prompts: bool) -> int:
    """Writes the tables: all whole, or none. Raises RunError where a run cannot be read or a file cannot be written."""
    from pyarrow.parquet import ParquetWriter

    abouts = read_run_refs(paths)
    target = folder or (paths[0] / "export" if len(paths) == 1 else Path("export"))
    tables = {name: columns | (PROMPTS if prompts and name == "calls" else {}) for name, columns in TABLES.items()}
    counts: Counter[str] = Counter()
    with writing(target), ExitStack() as opened:
        private_folder(target)
        parts = {name: opened.enter_context(replacing(target / f"{name}.parquet")) for name in tables}
        writers = {
            name: opened.enter_context(ParquetWriter(part, schema(tables[name]), compression="zstd"))
            for name, part in parts.items()
        }
        for about in abouts:
            for name, columns in tables.items():
                for batch in _batches(out, about, name, columns):
                    writers[name].write_batch(batch)
                    counts[name] += batch.num_rows
    for name in tables:
        out.print(escape(f"{target / name}.parquet: {counts[name]} rows"), soft_wrap=True)
    return 0


def _batches(out: Console, about: RunRef, name: str, columns: Columns) -> Iterator[Any]:
    """The rows of a run's table. Scores and verdicts that it lacks are named."""
    if name not in OF_RUN:
        yield from batches(about, name, columns)
        return
    try:
        yield from list(batches(about, name, columns))
    except RunError as error:
        out.print(escape(f"{about.run}: no {name}: {error.what}; next: {error.hint}"), soft_wrap=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.export", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: RUN/export, or ./export for several")
    parser.add_argument("--prompts", action="store_true", help="add what each call sent; makes the file far larger")
    given = parser.parse_args(arguments)
    return run_command(lambda: export(console(), given.runs, given.out, given.prompts), STARTS_OVER)


if __name__ == "__main__":
    start(main)
