"""A table for a terminal: each figure with its interval and n below it; columns that do not fit beside each other go on
below, the rows' names before them again."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from mmerg.console.terminal import escape
from mmerg.papertables.beside import Beside
from mmerg.papertables.line import Cell, Line
from mmerg.scoring.fitting import Fitting

_MARKS = {True: " ✓", False: " ✗", None: "  "}
_NAME = 32  # columns of a row's name, beyond which it goes on below


def as_text(beside: Beside) -> Iterator[RenderableType]:
    """Title, table, then its source and notes."""
    heads = ["", *(f"{head}  " for head in beside.heads)]
    yield escape(beside.title)
    yield Fitting(heads, [_row(line) for line in beside.lines])
    yield escape(f"source: {beside.source}")
    for note in beside.told:
        yield Padding(escape(note), (0, 0, 0, 2), expand=False)


def _row(line: Line) -> list[Text | str]:
    """The row's name, what stands below it, and as many lines a column, its figures on the last line of the name."""
    indent = "" if line.by == "paper" else "  "
    name = textwrap.wrap(f"{line.name}{line.tail}", _NAME, initial_indent=indent, subsequent_indent=indent)
    depth = _depth(line)
    below = ["    sd", "    seeds"] if line.by == "seeds" else ["    from", "    to", "    n"][: depth - 1]
    stacks = [_spread(cell) if line.by == "seeds" else _stack(cell, depth) for cell in line.cells]
    above = [""] * (len(name) - 1)
    return [escape("\n".join(column)) for column in ([*name, *below], *([*above, *stack] for stack in stacks))]


def _depth(line: Line) -> int:
    """How many lines a row takes: interval and n only where a figure of it has an interval."""
    return 4 if any(cell.low is not None or line.by == "ours" for cell in line.cells) else 1


def _stack(cell: Cell, depth: int) -> list[str]:
    """The figure, the ends of its interval, n; marks stand right of the column's digits."""
    lines = [f"{figure(cell.value)}{_MARKS[cell.inside]}"]
    if depth > 1:
        ends = ["" if end is None else figure(end) for end in (cell.low, cell.high)]
        lines += [f"{text}  " for text in (*ends, "" if cell.n is None else str(cell.n))]
    return lines


def _spread(cell: Cell) -> list[str]:
    """A mean over seeds, its spread, and how many seeds."""
    return [f"{figure(cell.value)}  ", "" if cell.spread is None else f"{figure(cell.spread)}  ", f"{cell.n or ''}  "]


def figure(value: float | None) -> str:
    """Two decimals, as papers print."""
    return "–" if value is None else f"{value:.2f}"
