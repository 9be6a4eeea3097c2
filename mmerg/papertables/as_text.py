"""A table for a terminal of 120 columns: each figure with its interval and n below it."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mmerg.papertables.beside import Beside
from mmerg.papertables.line import Cell, Line
from mmerg.terminal import harmless

_MARKS = {True: " ✓", False: " ✗", None: "  "}


def as_text(beside: Beside) -> Iterator[RenderableType]:
    """Title, table, then its source and notes."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for head in beside.heads:
        table.add_column(Text(f"{head}  "), justify="right")
    for line in beside.lines:
        ours = line.by == "ours"
        depth = _depth(line)
        name = line.name if line.by == "paper" else f"  {line.name}{'' if line.row or not ours else ' (no row)'}"
        below = ("    sd", "    seeds") if line.by == "seeds" else ("    from", "    to", "    n")[: depth - 1]
        stacks = [_spread(cell) if line.by == "seeds" else _stack(cell, depth) for cell in line.cells]
        table.add_row(harmless("\n".join((name, *below))), *(Text("\n".join(stack)) for stack in stacks))
    yield harmless(beside.title)
    yield table
    yield harmless(f"source: {beside.source}")
    for note in beside.told:
        yield Padding(harmless(note), (0, 0, 0, 2), expand=False)


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
