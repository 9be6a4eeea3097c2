"""The tables of runs as data frames, and a group of rows at a time for whoever writes them to files.

tidy = load(["runs/meld-merg-…", "runs/meld-trace-…"])
tidy.samples.groupby("run").emotion.value_counts()
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from mmerg.errors import RunError
from mmerg.runs.manifest import About, read_abouts
from mmerg.storage.files import SAFE
from mmerg.tidy import rows
from mmerg.tidy.columns import COLUMNS, Columns, schema
from mmerg.tidy.rows import Row

if TYPE_CHECKING:
    from pandas import DataFrame

GROUP = 1000  # rows


@dataclass(frozen=True)
class Tidy:
    """Runs as five data frames, each read when it is first asked for; docs/tidy.md lists the columns. A frame raises
    RunError where what it is of cannot be read, `scores` and `verdicts` also where a run's do not hold any more."""

    abouts: Sequence[About]

    @cached_property
    def samples(self) -> DataFrame:
        """A row a finished sample."""
        return self._frame("samples", rows.samples)

    @cached_property
    def scores(self) -> DataFrame:
        """A row a figure of `mmerg score` or of a judge."""
        return self._frame("scores", rows.scores)

    @cached_property
    def verdicts(self) -> DataFrame:
        """A row an answer of a judge on an aspect of a reply."""
        return self._frame("verdicts", rows.verdicts)

    @property
    def passes(self) -> DataFrame:
        """A row a pass; none of a sample whose events are gone."""
        return self._told["passes"]

    @property
    def calls(self) -> DataFrame:
        """A row a call; none of a sample whose events are gone."""
        return self._told["calls"]

    @cached_property
    def _told(self) -> dict[str, DataFrame]:
        """The two tables that are made of events, which are read once for both."""
        return self._frames(("passes", "calls"), rows.told)

    def _frame(self, table: str, rows_of: Callable[[About], Iterable[Row]]) -> DataFrame:
        return self._frames((table,), lambda about: ((table, row) for row in rows_of(about)))[table]

    def _frames(
        self, tables: Sequence[str], rows_of: Callable[[About], Iterable[tuple[str, Row]]]
    ) -> dict[str, DataFrame]:
        import pyarrow as pa

        columns = {table: COLUMNS[table] for table in tables}
        found: dict[str, list[Any]] = {table: [] for table in tables}
        for about in self.abouts:
            for table, group in batches(about, rows_of(about), columns):
                found[table].append(group)
        made = {table: pa.Table.from_batches(groups, schema(columns[table])) for table, groups in found.items()}
        return {table: one.to_pandas(maps_as_pydicts="strict") for table, one in made.items()}


def load(runs: Sequence[str | os.PathLike[str]]) -> Tidy:
    """The runs in these folders. Raises RunError where one is none, or two have one name."""
    return Tidy(read_abouts([Path(run) for run in runs]))


def batches(about: About, told: Iterable[tuple[str, Row]], columns: dict[str, Columns]) -> Iterator[tuple[str, Any]]:
    """The rows of a run, each with its table's name, as record batches of Arrow: memory holds a group a table. Raises
    RunError for a value that does not fit its column."""
    import pyarrow as pa

    of_run = rows.run_of(about)
    schemas = {table: schema(kinds) for table, kinds in columns.items()}
    waiting: dict[str, list[Row]] = {table: [] for table in columns}

    def group(table: str) -> Any:
        try:
            return pa.RecordBatch.from_pylist(waiting[table], schema=schemas[table])
        except (OverflowError, pa.ArrowInvalid) as error:
            first, last = (waiting[table][place].get("sample") for place in (0, -1))
            raise RunError(
                f"a value does not fit its column: {error}",
                where=f"{about.run}, {table}, one of {first} to {last}",
                hint="a server counted what cannot be, or a file is damaged: look into those of samples/",
            ) from error

    for table, row in told:
        waiting[table].append(_storable({**of_run, **row}))
        if len(waiting[table]) == GROUP:
            yield table, group(table)
            waiting[table].clear()
    yield from ((table, group(table)) for table, left in waiting.items() if left)


def _storable(value: Any) -> Any:
    """`value` in plain types; a lone surrogate, for which UTF-8 has no bytes, becomes what a run's own files hold."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode(errors=SAFE).decode()
        return value
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, dict):
        return {_storable(key): _storable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(inner) for inner in value]
    return value
