"""A map of counts: rows made shares of 100 % by colour, the counts themselves in the cells, n beside each row; of gold
label against forecast, and of tone, stance, goal or tactic by forecast emotion, which MERG (arXiv 2604.18988) draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mmerg.plots import style
from mmerg.plots.scored import caption
from mmerg.runs.manifest import About
from mmerg.runs.result import Result
from mmerg.scoring.score import Confusion

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Matrix:
    """counts: shape [rows, columns]. apart: so many columns at the right stand off, as they are of another kind."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: NDArray[np.int64]
    apart: int = 0

    @property
    def n(self) -> NDArray[np.int64]:
        """Shape [rows]: how many a row's counts are in all."""
        return np.asarray(self.counts.sum(axis=1), np.int64)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Shape [rows, columns]: percent of the row; NaN where the row has none."""
        with np.errstate(invalid="ignore"):
            return 100 * self.counts / self.n[:, None]


def of_confusion(confusion: Confusion) -> Matrix:
    """Gold label against forecast: shape [labels, labels + 1], samples without a forecast in the last column."""
    size = len(confusion.labels)
    counts = np.zeros((size, size + 1), np.int64)
    counts[:, :size] = np.array(confusion.counts, np.int64).reshape(size, size)
    counts[:, size] = confusion.failed
    return Matrix(confusion.labels, (*confusion.labels, "failed"), counts, apart=1)


def of_plans(
    results: Iterable[Result], dimension: str, emotions: Sequence[str] = (), vocabulary: Sequence[str] = ()
) -> Matrix:
    """A row for each emotion and a column for each word of `dimension`, in the order given; what occurs beside these
    comes after them, in the order of the alphabet. Shape [0, …] where no result has such a plan: one that is text, a
    failed sample, and a reply without forecast or plan are not in it."""
    counts: Counter[tuple[str, str]] = Counter()
    for result in results:
        word = result.plan.get(dimension) if isinstance(result.plan, Mapping) else None
        if result.emotion is not None and isinstance(word, str):
            counts[result.emotion, word] += 1
    rows = (*emotions, *sorted({emotion for emotion, _ in counts} - set(emotions))) if counts else ()
    columns = (*vocabulary, *sorted({word for _, word in counts} - set(vocabulary)))
    cells = [counts[row, column] for row in rows for column in columns]
    return Matrix(rows, columns, np.array(cells, np.int64).reshape(len(rows), len(columns)))


def draw_plans(about: About, results: Iterable[Result], dimension: str) -> Figure | None:
    """The figure of a run; None where no sample has a forecast and such a plan."""
    vocabulary = about.manifest.setting(f"system.vocabulary.{dimension}", ())
    table = of_plans(results, dimension, about.manifest.corpus.labels, vocabulary)
    title = f"{dimension.capitalize()} by forecast emotion, n={table.n.sum()}"
    return draw(table, title, caption([about]), "forecast emotion", dimension) if table.rows else None


def draw(matrix: Matrix, title: str, told: str, rows: str, columns: str) -> Figure:
    """The figure; told: what stands below; `rows` and `columns` name the axes."""
    names = [f"{style.label(name)}  n={n}" for name, n in zip(matrix.rows, matrix.n, strict=True)]
    tops = [style.label(name) for name in matrix.columns]
    digits = len(str(matrix.counts.max(initial=0)))
    side = 0.09 + 0.065 * digits  # inches: a cell holds the longest count
    left = max(map(style.long, names)) + 0.32
    width = max(style.WIDTH, left + side * len(tops) + 0.1)
    cell = max(0.17, min(0.26, 2.2 / len(names)))
    height = cell * len(names) + max(map(style.long, tops)) + 0.85
    figure = style.new(height, width)
    axes = figure.add_subplot()
    shares = matrix.shares
    grid = (np.arange(len(tops) + 1), np.arange(len(names) + 1))
    mesh = axes.pcolormesh(*grid, shares, cmap="Blues", vmin=0, vmax=100, edgecolor="white", lw=0.4)
    axes.invert_yaxis()
    for row, column in zip(*np.nonzero(matrix.counts), strict=True):
        axes.text(
            column + 0.5,
            row + 0.5,
            str(matrix.counts[row, column]),
            ha="center",
            va="center_baseline",
            color="white" if shares[row, column] > 55 else style.INK,
        )
    if matrix.apart:
        axes.axvline(len(tops) - matrix.apart, color=style.INK, lw=1.0)
    axes.set_xticks(np.arange(len(tops)) + 0.5, tops, rotation=90)
    axes.set_yticks(np.arange(len(names)) + 0.5, names)
    axes.tick_params(length=0)
    axes.set_xlabel(columns)
    axes.set_ylabel(rows)
    length = 1.3  # inches
    bar = figure.colorbar(
        mesh,
        ax=axes,
        location="top",
        shrink=min(1.0, length / (width - left)),
        aspect=length / 0.055,
        pad=0.06 / (cell * len(names)),
    )
    bar.set_label("% of the row")
    bar.set_ticks([0, 50, 100])
    bar.outline.set_linewidth(0.4)
    style.head(figure, title, told)
    return figure
