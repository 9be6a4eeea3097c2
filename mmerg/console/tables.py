"""Tables of text for a terminal, as LaTeX (booktabs) and as CSV.

table = Table("runs", ("run", "acc ↑"), [("MERG", "83.87\n67.37–92.91"), ("TRACE", "80.65")], best={(0, 1)})
console.print(table)
as_latex(table)
"""

import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import cast

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from mmerg.console.terminal import console, escape, printable
from mmerg.storage.files import write_output

FORMATS = ("text", "latex", "csv")
NONE = "–"
ARROWS = {True: " ↑", False: " ↓", None: ""}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LATEX = str.maketrans(
    {character: rf"\{character}" for character in "{}$&#%_"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", '"': "''", "–": "--"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {"↑": r"$\uparrow$", "↓": r"$\downarrow$", "±": r"$\pm$", "·": r"$\cdot$", "−": "$-$"}
)


@dataclass(frozen=True)
class Table:
    """A table of texts. On a terminal, columns that do not fit continue below, with the row names repeated, so that no
    number is cut. In LaTeX, further lines of a cell are small."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]  # a text for each head; the first is the name of the row
    notes: Sequence[str] = ()
    best: Collection[tuple[int, int]] = ()  # (row, column) of the cells in bold

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title:
            yield escape(self.title)
        if self.rows:
            yield Text(_text(self, options.max_width), no_wrap=True, overflow="ignore")
        for note in self.notes:
            yield Padding(escape(note), (0, 0, 0, 2), expand=False)


def format_number(value: float | None) -> str:
    """Formats the value with two decimals, or without decimals from a thousand on; – for None."""
    if value is None:
        return NONE
    return f"{value:.2f}" if abs(value) < 1000 else f"{value:,.0f}"


def format_difference(value: float | None) -> str:
    """Formats the value as `format_number` does, but always with its sign."""
    return f"+{format_number(value)}" if value is not None and value >= 0 else format_number(value)


def format_interval(low: float, high: float) -> str:
    return f"{format_number(low)}{' to ' if low < 0 else '–'}{format_number(high)}"


def write_tables(
    form: str,
    out: Path | None,
    parts: Iterable[RenderableType],
    tables: Sequence[Table],
    csv_rows: Iterable[Mapping[str, object]],
) -> None:
    """Prints `parts`, `tables` or `csv_rows`, if `form` is text, latex or csv; or writes them to the file `out`. Raises
    RunError if the file cannot be written."""
    if form == "text":
        target = Console(file=io.StringIO(), width=120, highlight=False) if out else console()
        for part in parts:
            target.print(part, soft_wrap=isinstance(part, Text))
        text = cast("io.StringIO", target.file).getvalue() if out else ""
    else:
        text = as_csv(list(csv_rows)) if form == "csv" else "\n".join(map(as_latex, tables))
    if out:
        write_output(out, text)
    else:
        print(text, end="")  # noqa: T201 - not wrapped, as programs read it


def as_latex(table: Table) -> str:
    r"""Returns the table as a `table*`, which needs \usepackage{booktabs} and UTF-8. Notes are below the table."""

    def cell(row: int, line: int, column: int, text: str) -> str:
        if not text or (line == 0 and (row, column) not in table.best):
            return _latex(text)
        return rf"\scriptsize {_latex(text)}" if line else rf"\textbf{{{_latex(text)}}}"

    from pandas import DataFrame

    lines = [
        [cell(row, line, column, text) for column, text in enumerate(cells)]
        for row, texts in enumerate(table.rows)
        for line, cells in enumerate(_lines(texts))
    ]
    frame = DataFrame(lines, columns=list(map(_latex, table.heads)), dtype=object)
    body = frame.to_latex(index=False, escape=False, column_format="l" + "r" * (len(table.heads) - 1))
    caption = f"\\caption{{{_latex(table.title)}}}\n" if table.title else ""
    notes = "".join(f"\\par{{\\footnotesize {_latex(note)}}}\n" for note in table.notes)
    return f"\\begin{{table*}}\n\\centering\n{caption}{body}{notes}\\end{{table*}}\n"


def as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Returns the rows as CSV, a column per key. Unknown numbers are empty, and no text can be taken for a formula."""
    from pandas import DataFrame

    cells = [
        {key: escape_formula(value) if isinstance(value, str) else value for key, value in row.items()} for row in rows
    ]
    return str(DataFrame(cells, dtype=object).to_csv(index=False, lineterminator="\n"))


def escape_formula(text: str) -> str:
    """Puts a text on one line, with a leading quote if a spreadsheet would read it as a formula."""
    flat = _flat(text)
    return f"'{flat}" if flat.startswith(_FORMULA) else flat


def _text(table: Table, width: int) -> str:
    """Renders the table for a terminal of `width` columns; a wider table becomes several blocks."""
    from pandas import DataFrame

    lines = [[f" {printable(cell)}" for cell in cells] for row in (table.heads, *table.rows) for cells in _lines(row)]
    heads, *rows = lines  # the blank keeps columns apart
    frame = DataFrame([row[1:] for row in rows], [row[0][1:] for row in rows], heads[1:], dtype=object)
    return frame.to_string(line_width=width)


def _lines(row: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yields the cells of a row, line by line."""
    return zip_longest(*(cell.split("\n") for cell in row), fillvalue="")


def _flat(text: str) -> str:
    return " ".join(printable(text).split())


def _latex(text: str) -> str:
    """Escapes the special characters of LaTeX."""
    return _flat(text).translate(_LATEX)
