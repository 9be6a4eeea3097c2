r"""A table in LaTeX: needs \usepackage{booktabs} and an engine or input encoding that takes UTF-8."""

from __future__ import annotations

from collections.abc import Iterator

from mmerg.console.terminal import printable
from mmerg.papertables.beside import Beside
from mmerg.papertables.line import Cell, Line

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "–": "--",
    "✓": r"$\in$",
    "✗": r"$\notin$",
    "·": r"$\cdot$",
}
_MARKS = {True: r"\,$\in$", False: r"\,$\notin$", None: ""}


def as_latex(beside: Beside) -> str:
    """A table environment; intervals and n on lines below the figures, notes below the table."""
    return "\n".join(_lines(beside)) + "\n"


def _lines(beside: Beside) -> Iterator[str]:
    yield r"\begin{table*}"
    yield r"\centering\small"
    yield rf"\caption{{{escaped(beside.title)}. Source: {escaped(beside.source)}.}}"
    yield rf"\begin{{tabular}}{{l{'r' * len(beside.columns)}}}"
    yield r"\toprule"
    yield f"& {' & '.join(map(escaped, beside.heads))} " + r"\\"
    yield r"\midrule"
    for line in beside.lines:
        yield from _rows(line)
    yield r"\bottomrule"
    yield r"\end{tabular}"
    for note in beside.told:
        yield rf"\par{{\footnotesize {escaped(note)}}}"
    yield r"\end{table*}"


def _rows(line: Line) -> Iterator[str]:
    name = escaped(line.name)
    if line.by == "ours":
        name = rf"\quad {name}{line.tail}"
    elif line.by == "seeds":
        name = rf"\quad\emph{{{name}}}{line.tail}"
    yield rf"{name} & {' & '.join(_value(cell) for cell in line.cells)} \\"
    if line.by == "seeds":
        spreads = ("" if cell.spread is None else rf"\scriptsize {cell.spread:.2f}" for cell in line.cells)
        yield rf"\quad\scriptsize sd & {' & '.join(spreads)} \\"
        yield rf"\quad\scriptsize seeds & {' & '.join(_count(cell) for cell in line.cells)} \\"
    elif line.by == "ours" or any(cell.low is not None for cell in line.cells):
        yield rf"\quad\scriptsize 95\,\% & {' & '.join(_between(cell) for cell in line.cells)} \\"
        yield rf"\quad\scriptsize $n$ & {' & '.join(_count(cell) for cell in line.cells)} \\"


def _value(cell: Cell) -> str:
    return "--" if cell.value is None else f"{cell.value:.2f}{_MARKS[cell.inside]}"


def _between(cell: Cell) -> str:
    return "" if cell.low is None else rf"\scriptsize {cell.low:.2f}--{cell.high:.2f}"


def _count(cell: Cell) -> str:
    return "" if cell.n is None else rf"\scriptsize {cell.n}"


def escaped(text: str) -> str:
    """Foreign text in which nothing is a command to LaTeX, on one line."""
    return "".join(_ESCAPES.get(character, character) for character in " ".join(printable(text).split()))
