"""A bench for the terminal, as Markdown and as JSON.

for part in shown(bench):
    console.print(part)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from mmerg.benching.rows import Bench
from mmerg.benching.sheets import notes, sheets
from mmerg.papertables.as_markdown import escaped
from mmerg.records.run import replace_file
from mmerg.terminal import harmless

JSON, MARKDOWN = "bench.json", "bench.md"


def shown(bench: Bench) -> Iterator[RenderableType]:
    """The tables and what stands below them."""
    for sheet in sheets(bench):
        table = Table(title=sheet.title, title_justify="left")
        for number, head in enumerate(sheet.heads):
            table.add_column(head, justify="left" if sheet.words or number == 0 else "right", overflow="fold")
        for line in sheet.lines:
            table.add_row(*map(harmless, line))
        yield table
    for note in notes(bench):
        yield harmless(note)


def as_markdown(bench: Bench) -> str:
    """The same as Markdown."""
    parts = [f"# Bench: {escaped(bench.dataset)}, {bench.asked} samples asked for"]
    for sheet in sheets(bench):
        rule = ("---|" if sheet.words else "---:|") * (len(sheet.heads) - 1)
        lines = [f"| {' | '.join(map(escaped, sheet.heads))} |", f"|---|{rule}"]
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
    replace_file(folder / JSON, bench.model_dump_json(indent=2) + "\n")
    replace_file(folder / MARKDOWN, as_markdown(bench))
    return [folder / JSON, folder / MARKDOWN]
