"""Tables of text for a terminal, as Markdown, as LaTeX (booktabs) and as CSV.

sheet = Sheet("runs", ("run", "acc ↑"), [("MERG", "83.87\n67.37–92.91"), ("TRACE", "80.65")], best={(0, 1)})
console.print(sheet)
as_latex(sheet)
"""

import io
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import cast

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from mmerg.console.terminal import console, escape, printable
from mmerg.storage.files import write_output

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
    are small where a form has sizes. best: cells in bold, by numbers of row and column. On a terminal, columns that do
    not fit go on below, after the names of the rows again, and no figure is cut."""

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
        text = cast("io.StringIO", target.file).getvalue() if out else ""
    else:
        forms = {"markdown": as_markdown, "latex": as_latex}
        text = as_csv(list(facts)) if form == "csv" else "\n".join(map(forms[form], sheets))
    if out:
        write_output(out, text)
    else:
        print(text, end="")  # noqa: T201 - for programs to read: no wrapping


def as_markdown(sheet: Sheet) -> str:
    """A heading, the table, and notes as a list."""
    from pandas import DataFrame

    def cell(row: int, column: int, text: str) -> str:
        first, *more = map(_markdown, text.split("\n"))
        return "<br>".join((f"**{first}**" if (row, column) in sheet.best else first, *more))

    rows = [[cell(row, column, text) for column, text in enumerate(cells)] for row, cells in enumerate(sheet.rows)]
    align = ("left", *["right"] * (len(sheet.heads) - 1))
    frame = DataFrame(rows, columns=list(map(_markdown, sheet.heads)), dtype=object)
    table = frame.to_markdown(index=False, tablefmt="pipe", disable_numparse=True, colalign=align)
    notes = "".join(f"- {_markdown(note)}\n" for note in sheet.notes)
    return f"### {_markdown(sheet.title)}\n\n" * bool(sheet.title) + f"{table}\n" + f"\n{notes}" * bool(notes)


def as_latex(sheet: Sheet) -> str:
    r"""A `table*`, which needs \usepackage{booktabs} and UTF-8; notes stand below the table."""

    def cell(row: int, line: int, column: int, text: str) -> str:
        if not text or (line == 0 and (row, column) not in sheet.best):
            return _latex(text)
        return rf"\scriptsize {_latex(text)}" if line else rf"\textbf{{{_latex(text)}}}"

    body = [
        [cell(row, line, column, text) for column, text in enumerate(cells)]
        for row, texts in enumerate(sheet.rows)
        for line, cells in enumerate(_lines(texts))
    ]
    heads, *rows = (" & ".join(cells) + r" \\" for cells in (map(_latex, sheet.heads), *body))
    return "\n".join(
        (
            *(r"\begin{table*}", r"\centering"),
            *[rf"\caption{{{_latex(sheet.title)}}}"] * bool(sheet.title),
            *[rf"\label{{{sheet.label}}}"] * bool(sheet.label),
            *(rf"\begin{{tabular}}{{l{'r' * (len(sheet.heads) - 1)}}}", r"\toprule", heads, r"\midrule", *rows),
            *(r"\bottomrule", r"\end{tabular}"),
            *(rf"\par{{\footnotesize {_latex(note)}}}" for note in sheet.notes),
            "\\end{table*}\n",
        )
    )


def as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Comma-separated values with a column for each key. Unknown numbers are empty, and no text is a formula."""
    from pandas import DataFrame

    cells = [{key: plain(value) if isinstance(value, str) else value for key, value in row.items()} for row in rows]
    return str(DataFrame(cells, dtype=object).to_csv(index=False, lineterminator="\n"))


def plain(text: str) -> str:
    """Foreign text on one line that no spreadsheet takes for a formula."""
    flat = _flat(text)
    return f"'{flat}" if flat.startswith(_FORMULA) else flat


def _blocks(sheet: Sheet, width: int) -> Iterator[str]:
    """The table for a terminal of `width` columns."""
    folded = textwrap.TextWrapper(min(_NAME, width // 2), subsequent_indent="  ")
    lines: list[Sequence[str]] = [("", *sheet.heads[1:])]
    for row in sheet.rows:
        name = folded.fill(printable(row[0]))
        down = "\n" * name.count("\n")  # figures stand on the last line of a name
        lines += _lines([name, *(down + cell for cell in row[1:])])
    columns = [_aligned(cells, right=number > 0) for number, cells in enumerate(zip(*lines, strict=True))]
    block = columns[:1]
    for column in columns[1:]:
        if len(block) > 1 and sum(cell_len(one[0]) + 2 for one in (*block, column)) - 2 > width:
            yield _drawn(block)
            block = columns[:1]
        block.append(column)
    yield _drawn(block)


def _lines(row: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The cells of a row, line by line."""
    return zip_longest(*(cell.split("\n") for cell in row), fillvalue="")


def _aligned(cells: Iterable[str], *, right: bool) -> list[str]:
    """The cells of a column in its width."""
    texts = [printable(cell) for cell in cells]
    width = max(map(cell_len, texts))
    blanks = [" " * (width - cell_len(text)) for text in texts]
    return [blank + text if right else text + blank for text, blank in zip(texts, blanks, strict=True)]


def _drawn(columns: Sequence[Sequence[str]]) -> str:
    lines = ("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))
    return "\n".join(line for line in lines if line)


def _flat(text: str) -> str:
    return " ".join(printable(text).split())


def _markdown(text: str) -> str:
    """Foreign text in which Markdown and HTML see no markup."""
    return re.sub(r"([\\`*_{}\[\]<>|~#&$])", r"\\\1", _flat(text))


def _latex(text: str) -> str:
    """Foreign text in which nothing is a command to LaTeX."""
    return _flat(text).translate(_LATEX)
