"""The tables of runs as data frames, and a group of rows at a time for whoever writes them to files.

tidy = load(["runs/meld-merg-…", "runs/meld-trace-…"])
tidy.samples.groupby("run").emotion.value_counts()
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from mmerg.errors import RunError
from mmerg.runs.manifest import About, read_abouts
from mmerg.tidy.tables import TABLES, Columns, Row, fields_of, rows_of, run_of

if TYPE_CHECKING:
    from pandas import DataFrame

GROUP = 1000  # rows


class Tidy:
    """Runs as data frames, each read when it is first asked for; docs/tidy.md lists the columns. A frame raises
    RunError where what it is of cannot be read, `scores` and `verdicts` also where a run's do not hold any more.

    samples: a row a finished sample. passes, calls: a row a pass or call, none of a sample whose events are gone.
    scores: a row a figure of `mmerg score` or of a judge. verdicts: a row an answer of a judge on an aspect of a reply.
    """

    samples: DataFrame
    passes: DataFrame
    calls: DataFrame
    scores: DataFrame
    verdicts: DataFrame

    def __init__(self, abouts: Sequence[About]) -> None:
        self.abouts = abouts

    def __repr__(self) -> str:
        runs = ", ".join(about.run for about in self.abouts)
        return f"Tidy of {runs}; data frames: {', '.join(TABLES)}"

    def __getattr__(self, table: str) -> DataFrame:
        """Reads a table that is not there yet."""
        import pyarrow as pa

        if table not in TABLES:
            raise AttributeError(table)
        columns = {table: TABLES[table]}
        groups = [batch for about in self.abouts for _, batch in batches(about, columns)]
        frame: DataFrame = pa.Table.from_batches(groups, schema(TABLES[table])).to_pandas(maps_as_pydicts="strict")
        setattr(self, table, frame)
        return frame


def load(runs: Sequence[str | os.PathLike[str]]) -> Tidy:
    """The runs in these folders. Raises RunError where one is none, or two have one name."""
    return Tidy(read_abouts([Path(run) for run in runs]))


def batches(about: About, tables: Mapping[str, Columns]) -> Iterator[tuple[str, Any]]:
    """The rows of these tables of a run with these columns, as record batches of Arrow, each with the name of its
    table: memory holds a group of rows of each. Raises RunError for a value that does not fit its column."""
    groups: dict[str, list[Row]] = {table: [] for table in tables}
    for table, row in rows_of(about, tables):
        groups[table].append(row)
        if len(groups[table]) == GROUP:
            yield table, _batch(about, table, tables[table], groups[table])
            groups[table].clear()
    for table, rows in groups.items():
        if rows:
            yield table, _batch(about, table, tables[table], rows)


def _batch(about: About, table: str, columns: Columns, rows: Sequence[Row]) -> Any:
    import pyarrow as pa

    of_run = run_of(about)
    plain = [{name: _plain(value) for name, value in (of_run | row).items() if name in columns} for row in rows]
    try:
        return pa.RecordBatch.from_pylist(plain, schema=schema(columns))
    except (OverflowError, pa.ArrowInvalid) as error:
        raise RunError(
            f"a value does not fit its column: {error}",
            where=f"{about.run}, {table}, one of {rows[0].get('sample')} to {rows[-1].get('sample')}",
            hint="a server counted what cannot be, or a file is damaged: look into those of samples/",
        ) from error


def schema(columns: Columns) -> Any:
    """A `pyarrow.Schema`."""
    import pyarrow as pa

    plain = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), datetime: pa.timestamp("us", tz="UTC")}

    def type_of(kind: Any) -> Any:
        origin, inside = get_origin(kind), [one for one in get_args(kind) if one is not NoneType]
        if origin in (Annotated, Union, UnionType):  # X | None
            return type_of(inside[0])
        if origin is tuple or isinstance(kind, list):
            return pa.list_(type_of((inside or kind)[0]))
        if origin is dict:
            return pa.map_(pa.string(), type_of(inside[1]))
        if isinstance(kind, dict):
            return pa.struct(list(schema(kind)))
        if kind in plain:
            return plain[kind]
        text = origin is Literal or issubclass(kind, str)
        return pa.string() if text else pa.struct(list(schema(fields_of(kind))))

    return pa.schema([(name, type_of(kind)) for name, kind in columns.items()])


def _plain(value: Any) -> Any:
    """`value` in plain types."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
