"""Writes rows to Parquet files, a group of rows at a time: memory holds a group, never a run.

The files appear whole, and none before all of them are; the same rows give the same bytes with the same pyarrow.

    with Tables(Path("export"), prompts=False) as tables:
        tables.add(about, rows)
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from mmerg.errors import RunError, unwritable
from mmerg.exporting.rows import Row, Rows
from mmerg.exporting.schemas import CALLS, PASSES, PROMPTS, SAMPLES, Columns, arrow
from mmerg.runs.manifest import About
from mmerg.storage.files import SAFE, private_folder

GROUP = 1000  # rows


class Tables:
    """samples.parquet, passes.parquet and calls.parquet in `folder`. Raises RunError where they cannot be written."""

    def __init__(self, folder: Path, prompts: bool) -> None:
        self._folder = folder
        self._columns = {"samples": SAMPLES, "passes": PASSES, "calls": CALLS | (PROMPTS if prompts else {})}

    def __enter__(self) -> Tables:
        with ExitStack() as opened:
            try:
                private_folder(self._folder)
                self._tables = {
                    name: opened.enter_context(_Table(self._folder / f"{name}.parquet", columns))
                    for name, columns in self._columns.items()
                }
            except OSError as error:
                raise unwritable(error, self._folder) from error
            self._opened = opened.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        try:
            with self._opened:
                if kind is None:
                    for table in self._tables.values():
                        table.finish()
                    for table in self._tables.values():
                        table.publish()
        except OSError as problem:
            raise unwritable(problem, self._folder) from problem

    def add(self, about: About, rows: Rows) -> None:
        """Add a sample of a run."""
        manifest = about.manifest
        run = {
            "run": about.run,
            "corpus": manifest.corpus.name,
            "split": manifest.corpus.split,
            "system": manifest.system,
            "backbone": manifest.backbone,
            "model": manifest.engine.model,
        }
        try:
            self._tables["samples"].add({**run, "protocol": manifest.protocol.description, **rows.sample})
            for row in rows.passes:
                self._tables["passes"].add({**run, **row})
            for row in rows.calls:
                self._tables["calls"].add({**run, **row})
        except OSError as error:
            raise unwritable(error, self._folder) from error

    def told(self) -> dict[Path, int]:
        """The files with their numbers of rows."""
        return {table.path: table.count for table in self._tables.values()}


class _Table:
    """One file, written beside its place until it is whole."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path = path
        self.count = 0
        self._schema = arrow(columns)
        self._waiting: list[Row] = []

    def __enter__(self) -> _Table:
        from pyarrow.parquet import ParquetWriter

        handle, part = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.", suffix=".part")
        os.close(handle)
        self._part = Path(part)
        self._writer = ParquetWriter(self._part, self._schema, compression="zstd")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with suppress(OSError):
            self._writer.close()
        with suppress(OSError):
            self._part.unlink()

    def finish(self) -> None:
        """Write what waits, and the file's end."""
        self._flush()
        self._writer.close()

    def publish(self) -> None:
        """Put the file in its place."""
        self._part.replace(self.path)

    def add(self, row: Row) -> None:
        self._waiting.append(_storable(row))
        self.count += 1
        if len(self._waiting) == GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._waiting:
            try:
                batch = pa.RecordBatch.from_pylist(self._waiting, schema=self._schema)
            except (OverflowError, pa.ArrowInvalid) as error:
                raise RunError(
                    f"a value does not fit its column: {error}",
                    where=f"{self.path.stem}, one of {self._waiting[0]['sample']} to {self._waiting[-1]['sample']}",
                    hint="a server counted what cannot be, or a file is damaged: look into those of samples/",
                ) from error
            self._writer.write_batch(batch)
            self._waiting.clear()


def _storable(value: Any) -> Any:
    """`value` with each lone surrogate, for which UTF-8 has no bytes, spelled out as in the run's own files."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode(errors=SAFE).decode()
        return value
    if isinstance(value, dict):
        return {_storable(key): _storable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(inner) for inner in value]
    return value
