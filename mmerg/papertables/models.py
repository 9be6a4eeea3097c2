"""Small empathetic models beside HEF's own (2024): a line each, with the figures of its validation.

with_models(put_beside(table, []), [Path("sem")])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mmerg.papertables.beside import Beside
from mmerg.papertables.line import Cell, Line
from mmerg.sem.artefact import CARD, Card, read

COLUMN = "top1"  # which the table of such models alone has


def is_model(path: Path) -> bool:
    """Whether the folder is a small empathetic model's, sound or not."""
    return (path / CARD).is_file()


def with_models(beside: Beside, paths: Sequence[Path]) -> Beside:
    """The table with a line for each model, if it is of such models. No figure is held against the paper's: its model
    is another one. Raises ConfigError where a model cannot be read."""
    if COLUMN not in beside.columns:
        return beside
    row = beside.lines[0].name
    lines = [_line(beside, row, number, path) for number, path in enumerate(paths, start=1)]
    named = [f"model {number} is {path.resolve().name}" for number, path in enumerate(paths, start=1)]
    return replace(beside, lines=(*beside.lines, *lines), notes=(*beside.notes, *named))


def _line(beside: Beside, row: str, number: int, path: Path) -> Line:
    card = read(path).card
    cells = tuple(_cell(card, column) for column in beside.columns)
    return Line(f"model {number}", "ours", row, cells, path.resolve().name, note=_differs(card), fits=False)


def _cell(card: Card, column: str) -> Cell:
    score = card.figures.get(column)
    if score is None:
        return Cell()
    low, high = score.interval or (None, None)
    return Cell(score.value, low, high, score.n, score.method, score.signature)


def _differs(card: Card) -> str:
    features = "an embedding" if card.embedder else "tf-idf"
    data = card.validated_on
    return f"logistic regression over {features}, not ESCM; {data.corpus} {data.split}, {len(card.labels)} labels"
