"""A table in Markdown: each figure with its interval and n in one cell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmerg.console.terminal import printable
from mmerg.papertables.as_text import figure
from mmerg.papertables.beside import Beside
from mmerg.papertables.line import Cell

_MARKS = {True: " ✓", False: " ✗", None: ""}


def as_markdown(beside: Beside) -> str:
    """A heading, the table, then source and notes as a list."""
    return "\n".join(_lines(beside)) + "\n"


def _lines(beside: Beside) -> Iterator[str]:
    yield f"### {escaped(beside.title)}"
    yield ""
    yield f"| | {' | '.join(map(escaped, beside.heads))} |"
    yield f"|---|{'---:|' * len(beside.columns)}"
    for line in beside.lines:
        name = escaped(line.name)
        if line.by == "seeds":
            name = f"*{name}*{line.tail}"
        elif line.by == "ours":
            name = f"**{name}**{line.tail}"
        yield f"| {name} | {' | '.join(_cell(cell) for cell in line.cells)} |"
    yield ""
    yield f"- source: {escaped(beside.source)}"
    yield from (f"- {escaped(note)}" for note in beside.told)


def _cell(cell: Cell) -> str:
    text = f"{figure(cell.value)}{_MARKS[cell.inside]}"
    if cell.low is not None:
        text += f"<br>{figure(cell.low)} to {figure(cell.high)}"
    if cell.spread is not None:
        return f"{text}<br>sd {figure(cell.spread)}<br>{cell.n} seeds"
    return text if cell.n is None or cell.value is None else f"{text}<br>n = {cell.n}"


def escaped(text: str) -> str:
    """Foreign text with what Markdown and HTML would take for markup made escape, on one line."""
    flat = " ".join(printable(text).split())
    return re.sub(r"([\\`*_{}\[\]<>|~#&$])", r"\\\1", flat)
