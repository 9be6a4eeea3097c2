"""Runs as pandas data frames.

tidy = load(["runs/meld-merg-…", "runs/meld-trace-…"])
tidy.samples.groupby("run").emotion.value_counts()
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mmerg.runs.manifest import RunRef, read_run_refs
from mmerg.tidy.tables import TABLES, iterate_rows

if TYPE_CHECKING:
    from pandas import DataFrame


class Tidy:
    """Runs as data frames, each read on first use; docs/tidy.md lists the columns.

    Reading a frame raises RunError if its files cannot be read; for `scores` and `verdicts` also if they are missing or
    stale.

    Attributes:
        samples, passes, calls: a row per finished sample, pass or call.
        scores: a row per metric of `mmerg score`, of a judge, or of people.
        verdicts: a row per verdict of a judge on an aspect of a reply.
        ratings: a row per rating by a person.
    """

    samples: DataFrame
    passes: DataFrame
    calls: DataFrame
    scores: DataFrame
    verdicts: DataFrame
    ratings: DataFrame

    def __init__(self, refs: Sequence[RunRef]) -> None:
        self.refs = refs

    def __repr__(self) -> str:
        runs = ", ".join(ref.run for ref in self.refs)
        return f"Tidy of {runs}; data frames: {', '.join(TABLES)}"

    def __getattr__(self, table: str) -> DataFrame:
        """Reads a frame on first use, and stores it."""
        from pandas import DataFrame

        if table not in TABLES:
            raise AttributeError(table)
        columns = dict.fromkeys(TABLES[table])  # a missing text is None and not NaN, so that `.str` works
        frame = DataFrame(
            [columns | row for ref in self.refs for row in iterate_rows(ref, table)], columns=list(columns)
        )
        setattr(self, table, frame)
        return frame


def load(runs: Sequence[str | os.PathLike[str]]) -> Tidy:
    """Reads the runs in these folders. Raises RunError if a folder is not a run, or two runs have the same name."""
    return Tidy(read_run_refs([Path(run) for run in runs]))
