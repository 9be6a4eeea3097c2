"""Exports runs as Parquet files for pandas, DuckDB and others: `mmerg export RUN… [--out DIR] [--prompts]`.

Writes the five tables of `mmerg.load`, each with the rows of all given runs; docs/tidy.md lists their columns. Scores
and verdicts are those that `mmerg score` and `mmerg judge` left with the runs. `--prompts` adds to each call what was
sent, which makes the file many times larger. `--inspect` writes a log a run beside them, which `inspect view` shows; it
needs `pip install 'mmerg[inspect]'`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, run_command, start
from mmerg.errors import RunError
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import About, read_abouts
from mmerg.runs.samples import gone
from mmerg.storage.files import private_folder, replacing, writing
from mmerg.tidy import rows
from mmerg.tidy.columns import COLUMNS, PROMPTS, schema
from mmerg.tidy.frames import batches
from mmerg.tidy.inspect_log import write_log


def export(out: Console, paths: Sequence[Path], folder: Path | None, prompts: bool, inspect: bool) -> int:
    """Writes the tables: all whole, or none. Raises RunError where a run cannot be read or a file cannot be written."""
    from pyarrow.parquet import ParquetWriter

    abouts = read_abouts(paths)
    target = folder or (paths[0] / "export" if len(paths) == 1 else Path("export"))
    columns = {**COLUMNS, "calls": COLUMNS["calls"] | (PROMPTS if prompts else {})}
    files = {table: target / f"{table}.parquet" for table in columns}
    counts: Counter[str] = Counter()
    with writing(target), ExitStack() as opened:
        private_folder(target)
        parts = {table: opened.enter_context(replacing(file)) for table, file in files.items()}
        writers = {
            table: opened.enter_context(ParquetWriter(part, schema(columns[table]), compression="zstd"))
            for table, part in parts.items()
        }
        for about in abouts:
            for table, batch in batches(about, _rows(out, about, prompts), columns):
                writers[table].write_batch(batch)
                counts[table] += batch.num_rows
    for about in abouts if inspect else ():
        write_log(about, target / f"{about.run}.eval")
        out.print(escape(f"{target / about.run}.eval"), soft_wrap=True)
    for table, file in files.items():
        out.print(escape(f"{file}: {counts[table]} rows"), soft_wrap=True)
    return 0


def _rows(out: Console, about: About, prompts: bool) -> Iterator[tuple[str, rows.Row]]:
    """The rows of a run; what it lacks is told. Raises RunError where no sample has events."""
    yield from (("samples", row) for row in rows.samples(about))
    yield from rows.told(about, prompts)
    results = read_results(about.path)
    if lost := len(results.lost):
        if lost == len(results):
            raise gone(about.path)
        out.print(escape(f"{about.run}: there are no events of {lost} samples: no passes, no calls"))
    for table, rows_of in (("scores", rows.scores), ("verdicts", rows.verdicts)):
        try:
            found = list(rows_of(about))
        except RunError as error:
            out.print(escape(f"{about.run}: no {table}: {error.what}; next: {error.hint}"), soft_wrap=True)
        else:
            yield from ((table, row) for row in found)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.export", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write: RUN/export, or ./export for several")
    parser.add_argument("--prompts", action="store_true", help="add to each call its messages and its schema")
    parser.add_argument("--inspect", action="store_true", help="write a log a run, too, for inspect_ai")
    given = parser.parse_args(arguments)
    options = (given.out, given.prompts, given.inspect)
    return run_command(lambda: export(console(), given.runs, *options), STARTS_OVER)


if __name__ == "__main__":
    start(main)
