"""Tables as comma-separated values: a figure a line, its interval and n in columns of their own, numbers plain."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from mmerg.console.terminal import printable
from mmerg.papertables.beside import Beside

COLUMNS = (
    *("table", "dataset", "by", "row", "fits", "run", "metric", "value", "low", "high", "spread", "n", "method"),
    *("paper_in_interval", "signature", "note"),
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(tables: Sequence[Beside]) -> str:
    """One file for all tables. fits: whether a line of ours is set as its row; where not, its note says in what. The
    note of the paper's lines: its caveats. Empty cells are unknown."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for table in tables:
        caveats = " ".join(table.caveats)
        for line in table.lines:
            for column, cell in zip(table.columns, line.cells, strict=True):
                note = caveats if line.by == "paper" else line.note
                inside = "" if cell.inside is None else str(cell.inside).lower()
                fits = "" if line.by == "paper" else str(line.fits).lower()
                told = (table.title, table.dataset, line.by, line.row, fits, line.run, column)
                texts = [plain(text) for text in told]
                numbers = [cell.value, cell.low, cell.high, cell.spread, cell.n]
                writer.writerow([*texts, *numbers, cell.method, inside, plain(cell.signature), plain(note)])
    return out.getvalue()


def plain(text: str) -> str:
    """Foreign text that no spreadsheet takes for a formula, on one line."""
    flat = " ".join(printable(text).split())
    return f"'{flat}" if flat.startswith(_FORMULA) else flat
