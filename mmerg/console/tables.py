"""Tables of text, drawn through pandas for a terminal, as Markdown, as LaTeX (booktabs) and as CSV.

sheet = Sheet("runs", ("run", "acc ↑"), [("MERG", "83.87\n67.37–92.91"), ("TRACE", "80.65")], best={(0, 1)})
console.print(sheet)
as_latex(sheet)
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from mmerg.console.terminal import console, escape, printable
from mmerg.storage.files import write_whole

if TYPE_CHECKING:
    from pandas import DataFrame

FORMATS = ("text", "markdown", "latex", "csv")
NONE = "–"
ARROWS = {True: " ↑", False: " ↓", None: ""}
_NAME = 32  # columns of a row's name, beyond which it goes on below
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LATEX = str.maketrans(
    {character: rf"\{character}" for character in "{}$&#%_"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", '"': "''", "–": "--"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "✓": r"$\in$", "✗": r"$\notin$"}
    | {"↑": r"$\uparrow$", "↓": r"$\downarrow$", "±": r"$\pm$", "·": r"$\cdot$", "−": "$-$"}
)


@dataclass(frozen=True)
class Sheet:
    """A table to draw. rows: a text for each of heads, the first says what the row is; lines of a cell below the first
    are small where a form has sizes. best: cells in bold, by numbers of row and column. notes stand below. Prints
    itself: columns that do not fit beside each other go on below, the names before them again, and no figure is cut."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    best: Collection[tuple[int, int]] = ()
    label: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title:
            yield escape(self.title)
        for block in _blocks(self, options.max_width):
            yield Text(block, no_wrap=True, overflow="ignore")
        for note in self.notes:
            yield Padding(escape(note), (0, 0, 0, 2), expand=False)


def figure(value: float | None) -> str:
    """Two decimals, none from a thousand on; – where there is none."""
    if value is None:
        return NONE
    return f"{value:.2f}" if abs(value) < 1000 else f"{value:,.0f}"


def signed(value: float | None) -> str:
    """A difference: as `figure`, with its sign."""
    return f"+{figure(value)}" if value is not None and value >= 0 else figure(value)


def between(low: float, high: float) -> str:
    """The ends of an interval."""
    return f"{figure(low)}{' to ' if low < 0 else '–'}{figure(high)}"


def deliver(
    form: str,
    out: Path | None,
    parts: Iterable[RenderableType],
    sheets: Sequence[Sheet],
    facts: Iterable[Mapping[str, object]],
) -> None:
    """Print, or write to the file `out`: `parts` as text, `sheets` as Markdown or LaTeX, `facts` as CSV. Raises
    RunError where the file cannot be written."""
    if form == "text":
        target = Console(file=io.StringIO(), width=120, highlight=False) if out else console()
        for part in parts:
            target.print(part, soft_wrap=isinstance(part, Text))
        if not out:
            return
        text = cast("io.StringIO", target.file).getvalue()
    else:
        forms = {"markdown": as_markdown, "latex": as_latex}
        text = as_csv(list(facts)) if form == "csv" else "\n".join(map(forms[form], sheets))
    if out:
        write_whole(out, text)
    else:
        print(text, end="")  # noqa: T201 - for programs to read: no wrapping


def as_markdown(sheet: Sheet) -> str:
    """A heading, the table, and notes as a list."""

    def cell(row: int, column: int, text: str) -> str:
        first, *more = map(_markdown, text.split("\n"))
        return "<br>".join((f"**{first}**" if (row, column) in sheet.best else first, *more))

    rows = [[cell(row, column, text) for column, text in enumerate(cells)] for row, cells in enumerate(sheet.rows)]
    right = ["right"] * (len(sheet.heads) - 1)
    table = _frame(list(map(_markdown, sheet.heads)), rows).to_markdown(
        index=False, tablefmt="pipe", disable_numparse=True, colalign=("left", *right)
    )
    notes = "".join(f"- {_markdown(note)}\n" for note in sheet.notes)
    return f"### {_markdown(sheet.title)}\n\n" * bool(sheet.title) + f"{table}\n" + f"\n{notes}" * bool(notes)


def as_latex(sheet: Sheet) -> str:
    r"""A `table*`, which needs \usepackage{booktabs} and UTF-8; notes stand below the table."""
    rows: list[list[str]] = []
    above = -1
    for number, line in _lines(sheet):
        first, above = number != above, number
        bold = [first and (number, column) in sheet.best for column in range(len(line))]
        form = "{}" if first else r"\scriptsize {}"
        cells = zip(map(_latex, line), bold, strict=True)
        rows.append([rf"\textbf{{{cell}}}" if best else form.format(cell) if cell else "" for cell, best in cells])
    text = (
        _frame(list(map(_latex, sheet.heads)), rows)
        .style.hide(axis="index")
        .to_latex(
            hrules=True,
            column_format="l" + "r" * (len(sheet.heads) - 1),
            position_float="centering",
            caption=_latex(sheet.title),
            label=sheet.label or None,
            environment="table*",
        )
    )
    notes = "".join(f"\\par{{\\footnotesize {_latex(note)}}}\n" for note in sheet.notes)
    return text.replace(r"\end{table*}", notes + r"\end{table*}")


def as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Facts as comma-separated values, a key a column: numbers plain, unknown ones empty, no text a formula."""
    from pandas import DataFrame

    told = [{key: plain(value) if isinstance(value, str) else value for key, value in row.items()} for row in rows]
    return str(DataFrame(told, dtype=object).to_csv(index=False, lineterminator="\n"))


def plain(text: str) -> str:
    """Foreign text that no spreadsheet takes for a formula, on one line."""
    flat = _flat(text)
    return f"'{flat}" if flat.startswith(_FORMULA) else flat


def _blocks(sheet: Sheet, width: int) -> Iterator[str]:
    """The table for a terminal of `width` columns."""
    folded = textwrap.TextWrapper(min(_NAME, width // 2), subsequent_indent="  ")
    names = [folded.fill(printable(row[0])) for row in sheet.rows]
    rows = [  # figures stand on the last line of a name
        [name, *("\n" * name.count("\n") + cell for cell in row[1:])]
        for name, row in zip(names, sheet.rows, strict=True)
    ]
    lines = [["", *sheet.heads[1:]], *(line for _, line in _lines(Sheet("", sheet.heads, rows)))]
    columns = [_aligned([printable(line[column]) for line in lines], column) for column in range(len(sheet.heads))]
    taken = columns[:1]
    for column in columns[1:]:
        if len(taken) > 1 and sum(cell_len(one[0]) + 2 for one in (*taken, column)) - 2 > width:
            yield _drawn(taken)
            taken = columns[:1]
        taken.append(column)
    yield _drawn(taken)


def _aligned(cells: Sequence[str], column: int) -> list[str]:
    """The cells of a column in its width, names on the left and figures on the right."""
    width = max(map(cell_len, cells))
    blanks = [" " * (width - cell_len(cell)) for cell in cells]
    return [blank + cell if column else cell + blank for cell, blank in zip(cells, blanks, strict=True)]


def _drawn(columns: Sequence[Sequence[str]]) -> str:
    lines = ("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))
    return "\n".join(line for line in lines if line)


def _lines(sheet: Sheet) -> Iterator[tuple[int, list[str]]]:
    """The lines of each row, with its number."""
    for number, row in enumerate(sheet.rows):
        cells = [cell.split("\n") for cell in row]
        for line in range(max(map(len, cells))):
            yield number, [cell[line] if line < len(cell) else "" for cell in cells]


def _frame(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> DataFrame:
    from pandas import DataFrame

    return DataFrame(list(rows), columns=list(heads), dtype=object)


def _flat(text: str) -> str:
    return " ".join(printable(text).split())


def _markdown(text: str) -> str:
    """Foreign text with what Markdown and HTML would take for markup made escape."""
    return re.sub(r"([\\`*_{}\[\]<>|~#&$])", r"\\\1", _flat(text))


def _latex(text: str) -> str:
    """Foreign text in which nothing is a command to LaTeX."""
    return _flat(text).translate(_LATEX)
