"""A paper's table with our runs beside, as a sheet of text and as facts.

console.print(sheet(put_beside(table, runs)))
"""

from collections.abc import Iterator, Mapping

from mmerg.console.tables import Sheet, between, figure
from mmerg.papertables.beside import Beside
from mmerg.papertables.line import Cell, Line

_MARKS = {True: " ✓", False: " ✗", None: ""}


def sheet(beside: Beside, verbose: bool = True) -> Sheet:
    """Ours below the paper's row that they stand with; below a figure its interval and n. verbose: with signatures and
    what is to be known of the paper's figures."""
    rows = [
        (f"{'' if line.by == 'paper' else '· '}{line.name}{line.tail}", *(_cell(line, cell) for cell in line.cells))
        for line in beside.lines
    ]
    notes = beside.told if verbose else [note for note in beside.told if note not in beside.details]
    return Sheet(beside.title, ("", *beside.heads), rows, [f"source: {beside.source}", *notes])


def facts(beside: Beside) -> Iterator[Mapping[str, object]]:
    """A figure a row. fits: whether a line of ours is set as its row; where not, its note says in what. The note of the
    paper's lines: its caveats."""
    for line in beside.lines:
        paper = line.by == "paper"
        for column, cell in zip(beside.columns, line.cells, strict=True):
            yield {
                **{"table": beside.title, "dataset": beside.dataset, "by": line.by, "row": line.row},
                **{"fits": "" if paper else str(line.fits).lower(), "run": line.run, "metric": column},
                **{"value": cell.value, "low": cell.low, "high": cell.high, "spread": cell.spread, "n": cell.n},
                "method": cell.method,
                "paper_in_interval": "" if cell.inside is None else str(cell.inside).lower(),
                "signature": cell.signature,
                "note": " ".join(beside.caveats) if paper else line.note,
            }


def _cell(line: Line, cell: Cell) -> str:
    parts = [f"{figure(cell.value)}{_MARKS[cell.inside]}"]
    if cell.low is not None and cell.high is not None:
        parts.append(between(cell.low, cell.high))
    elif any(other.low is not None for other in line.cells):
        parts.append("")
    if cell.spread is not None:
        parts.append(f"sd {figure(cell.spread)}")
    if cell.value is not None and cell.n is not None and (line.by != "paper" or cell.low is not None):
        parts.append(f"{cell.n} seeds" if line.by == "seeds" else f"n={cell.n}")
    return "\n".join(parts)
