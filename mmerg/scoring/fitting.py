"""A table that no terminal is too narrow for: where its columns do not fit beside each other, it goes on below.

Nothing is folded within a cell, so a digit never stands apart from its number.

    console.print(Fitting(["figure", "A", "B"], [["acc ↑", "50.00", "70.00"]]))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

Cell: TypeAlias = Text | str
_ANY = 100_000  # columns


@dataclass(frozen=True)
class Fitting:
    """heads: of the columns; rows: a cell for each of them. The first column, which says what a row is, stands in each
    of the tables; numbers stand to the right, it to the left unless `numbered`."""

    heads: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    numbered: bool = False
    lines: box.Box = box.SIMPLE_HEAD

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.update(width=_ANY)
        columns: list[int] = []
        for column in range(1, len(self.heads)):
            needed = Measurement.get(console, wide, self._table([*columns, column])).maximum
            if columns and needed > options.max_width:
                yield self._table(columns)
                columns = []
            columns.append(column)
        yield self._table(columns)

    def _table(self, columns: Sequence[int]) -> Table:
        table = Table(box=self.lines, padding=(0, 1, 0, 0) if self.lines is box.SIMPLE_HEAD else (0, 1))
        table.add_column(self.heads[0], justify="right" if self.numbered else "left", no_wrap=True)
        for column in columns:
            table.add_column(self.heads[column], justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(row[0], *(row[column] for column in columns))
        return table
