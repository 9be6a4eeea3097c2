"""A bench for the terminal, as Markdown and as JSON.

for part in shown(bench):
    console.print(part)
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mmerg.benching.notes import notes
from mmerg.benching.rows import Bench
from mmerg.benching.sheets import Sheet, sheets
from mmerg.console.terminal import escape
from mmerg.papertables.as_markdown import escaped
from mmerg.scoring.files import written
from mmerg.scoring.fitting import Fitting
from mmerg.storage.files import write_whole

JSON, MARKDOWN = "bench.json", "bench.md"
_NAME = 24  # columns of a name, beyond which it goes on below


def shown(bench: Bench) -> Iterator[RenderableType]:
    """What was asked for, the tables, and what stands below them. Names are folded where there is little room, figures
    never."""
    yield escape(f"{bench.dataset}, {bench.asked} samples asked for")
    for told in _asked(bench):
        yield escape(told)
    for sheet in sheets(bench):
        yield Text(f"\n{sheet.title}", style="bold")
        yield _worded(sheet) if len(sheet.words) > 1 else _figures(sheet)
    for note in notes(bench):
        yield Padding(escape(note), (0, 0, 0, 2), expand=False)


def _figures(sheet: Sheet) -> Fitting:
    rows = [[escape(textwrap.fill(line[0], _NAME)), *map(escape, line[1:])] for line in sheet.lines]
    return Fitting(sheet.heads, rows)


def _worded(sheet: Sheet) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, head in enumerate(sheet.heads):
        if number in sheet.words:
            table.add_column(head, overflow="fold")
        else:
            table.add_column(head, justify="right", no_wrap=True)
    for line in sheet.lines:
        table.add_row(*map(escape, line))
    return table


def _asked(bench: Bench) -> Iterator[str]:
    if bench.settings:
        yield f"settings: {' '.join(bench.settings)}"
    if bench.figures:
        yield f"figures: {' '.join(bench.figures)}"


def as_markdown(bench: Bench) -> str:
    """The same as Markdown."""
    parts = [f"# Bench: {escaped(bench.dataset)}, {bench.asked} samples asked for"]
    parts += [escaped(told) for told in _asked(bench)]
    for sheet in sheets(bench):
        rule = "".join("---|" if number in sheet.words else "---:|" for number in range(len(sheet.heads)))
        lines = [f"| {' | '.join(map(escaped, sheet.heads))} |", f"|{rule}"]
        lines += [
            f"| {' | '.join('<br>'.join(escaped(part) for part in cell.split(chr(10))) for cell in line)} |"
            for line in sheet.lines
        ]
        parts.append(f"## {escaped(sheet.title)}\n\n" + "\n".join(lines))
    if below := list(notes(bench)):
        parts.append("\n".join(f"- {escaped(note)}" for note in below))
    return "\n\n".join(parts) + "\n"


def write(bench: Bench, folder: Path) -> list[Path]:
    """Write both files, each whole or not at all; returns their paths. Raises RunError where they cannot be written."""
    written(folder / JSON, bench)
    write_whole(folder / MARKDOWN, as_markdown(bench))
    return [folder / JSON, folder / MARKDOWN]
