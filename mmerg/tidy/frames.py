"""The tables of runs as data frames, and a group of rows at a time for whoever writes them to files.

tidy = load(["runs/meld-merg-…", "runs/meld-trace-…"])
tidy.samples.groupby("run").emotion.value_counts()
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from mmerg.errors import RunError
from mmerg.runs.manifest import About, read_abouts
from mmerg.storage.files import SAFE
from mmerg.tidy.tables import TABLES, Columns, fields_of, run_of

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

    def __getattr__(self, table: str) -> DataFrame:
        """Reads a table that is not there yet."""
        import pyarrow as pa

        if table not in TABLES:
            raise AttributeError(table)
        columns = TABLES[table].columns
        found = [group for about in self.abouts for group in batches(about, table, columns)]
        frame: DataFrame = pa.Table.from_batches(found, schema(columns)).to_pandas(maps_as_pydicts="strict")
        setattr(self, table, frame)
        return frame


def load(runs: Sequence[str | os.PathLike[str]]) -> Tidy:
    """The runs in these folders. Raises RunError where one is none, or two have one name."""
    return Tidy(read_abouts([Path(run) for run in runs]))


def batches(about: About, table: str, columns: Columns) -> Iterator[Any]:
    """These columns of a table of a run, as record batches of Arrow: memory holds a group of rows. Raises RunError for
    a value that does not fit its column."""
    import pyarrow as pa

    of_run, types, rows = run_of(about), schema(columns), TABLES[table].rows(about)
    while group := list(islice(rows, GROUP)):
        try:
            plain = [
                {name: _plain(value) for name, value in (of_run | row).items() if name in columns} for row in group
            ]
            yield pa.RecordBatch.from_pylist(plain, schema=types)
        except (OverflowError, pa.ArrowInvalid) as error:
            raise RunError(
                f"a value does not fit its column: {error}",
                where=f"{about.run}, {table}, one of {group[0].get('sample')} to {group[-1].get('sample')}",
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
    """`value` in plain types; a lone surrogate, for which UTF-8 has no bytes, becomes what a run's own files hold."""
    if isinstance(value, str):
        return value.encode(errors=SAFE).decode()
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, dict):
        return {_plain(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
