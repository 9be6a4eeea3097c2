"""The tables of runs as data frames, and as record batches for files.

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

from mmerg.runs.manifest import RunRef, read_run_refs
from mmerg.tidy.tables import TABLES, Columns, describe_run, iterate_rows, list_columns

if TYPE_CHECKING:
    from pandas import DataFrame

GROUP = 1000  # rows


class Tidy:
    """Runs as data frames, each read when it is first asked for; docs/tidy.md lists the columns. A frame raises
    RunError where what it is of cannot be read, `scores` and `verdicts` also where a run's do not hold any more.

    samples: a row per finished sample. passes, calls: a row per pass or call.
    scores: a row per metric of `mmerg score`, of a judge or of people. verdicts: a row per answer of a judge on an
    aspect of a reply. ratings: a row per answer of a person.
    """

    samples: DataFrame
    passes: DataFrame
    calls: DataFrame
    scores: DataFrame
    verdicts: DataFrame
    ratings: DataFrame

    def __init__(self, abouts: Sequence[RunRef]) -> None:
        self.abouts = abouts

    def __repr__(self) -> str:
        runs = ", ".join(about.run for about in self.abouts)
        return f"Tidy of {runs}; data frames: {', '.join(TABLES)}"

    def __getattr__(self, table: str) -> DataFrame:
        """Reads a table that is not there yet."""
        import pyarrow as pa

        if table not in TABLES:
            raise AttributeError(table)
        groups = [batch for about in self.abouts for batch in batches(about, table, TABLES[table])]
        frame: DataFrame = pa.Table.from_batches(groups, schema(TABLES[table])).to_pandas(maps_as_pydicts="strict")
        setattr(self, table, frame)
        return frame


def load(runs: Sequence[str | os.PathLike[str]]) -> Tidy:
    """The runs in these folders. Raises RunError where one is none, or two have one name."""
    return Tidy(read_run_refs([Path(run) for run in runs]))


def batches(about: RunRef, table: str, columns: Columns) -> Iterator[Any]:
    """The rows of a table of a run with these columns, as record batches of Arrow of GROUP rows."""
    import pyarrow as pa

    of_run, rows = describe_run(about), iterate_rows(about, table)
    while group := [of_run | row for row in islice(rows, GROUP)]:
        yield pa.RecordBatch.from_pylist(group, schema=schema(columns))


def schema(columns: Columns) -> Any:
    """A `pyarrow.Schema`."""
    import pyarrow as pa

    plain = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), datetime: pa.timestamp("us", tz="UTC")}

    def to_arrow_type(kind: Any) -> Any:
        origin, inside = get_origin(kind), [one for one in get_args(kind) if one is not NoneType]
        if origin in (Annotated, Union, UnionType):  # X | None
            return to_arrow_type(inside[0])
        if origin is tuple or isinstance(kind, list):
            return pa.list_(to_arrow_type((inside or kind)[0]))
        if origin is dict:
            return pa.map_(pa.string(), to_arrow_type(inside[1]))
        if isinstance(kind, dict):
            return pa.struct(list(schema(kind)))
        if kind in plain:
            return plain[kind]
        text = origin is Literal or issubclass(kind, str)
        return pa.string() if text else pa.struct(list(schema(list_columns(kind))))

    return pa.schema([(name, to_arrow_type(kind)) for name, kind in columns.items()])
