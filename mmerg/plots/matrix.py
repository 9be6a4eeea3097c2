"""Plots of matrices of counts: gold label against forecast, and tone, stance, goal or tactic by forecast emotion, as in
MERG (arXiv 2604.18988). The colour of a cell shows its share of the row, its number the count. Each row names its n."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mmerg.console.terminal import printable
from mmerg.plots import style
from mmerg.plots.run_data import RunData, describe_runs
from mmerg.scoring.score import Confusion

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


def tabulate_plans(run: RunData, field: str) -> DataFrame:
    """Makes a frame with a row per forecast emotion and a column per value of a field of the plan. The labels and the
    vocabulary of the run come first, then other values that occur. It is empty if no sample has both."""
    from pandas import DataFrame

    counts: Counter[tuple[str, str]] = Counter()
    for result in run.results.values():
        word = result.plan.get(field) if isinstance(result.plan, Mapping) else None
        if result.emotion is not None and isinstance(word, str):
            counts[result.emotion, word] += 1
    labels, vocabulary = run.ref.manifest.corpus.labels, run.ref.manifest.setting(f"system.vocabulary.{field}", ())
    rows = list(dict.fromkeys([*labels, *sorted(emotion for emotion, _ in counts)])) if counts else []
    columns = list(dict.fromkeys([*vocabulary, *sorted(word for _, word in counts)]))
    cells = {printable(column): [counts[row, column] for row in rows] for column in columns}
    return DataFrame(cells, list(map(printable, rows)))


def draw_confusion(run: RunData, confusion: Confusion) -> Figure:
    """Draws a row per gold label and a column per forecast, the last one for samples without forecast."""
    from pandas import DataFrame

    labels = list(map(printable, confusion.labels))
    cells = np.column_stack([np.array(confusion.counts, int).reshape(len(labels), -1), confusion.failed])
    title = f"Gold label against forecast, n={cells.sum()}"
    counts = DataFrame(cells, labels, [*labels, "failed"])
    return draw_matrix(counts, title, describe_runs([run]), "gold label", "forecast", apart=1)


def draw_plans(run: RunData, field: str) -> Figure | None:
    """Draws a field of the plan by forecast emotion; returns None if no sample has both."""
    counts = tabulate_plans(run, field)
    title = f"{field.capitalize()} by forecast emotion, n={counts.to_numpy().sum()}"
    return None if counts.empty else draw_matrix(counts, title, describe_runs([run]), "forecast emotion", field)


def draw_matrix(counts: DataFrame, title: str, caption: str, rows: str, columns: str, apart: int = 0) -> Figure:
    """Draws a matrix of counts. rows, columns: the names of the axes. apart: how many last columns a line separates."""
    cells = counts.to_numpy()
    sums = cells.sum(axis=1)
    shares = 100 * cells / np.where(sums, sums, 1)[:, None]
    names = [f"{style.fit_label(name)}  n={n}" for name, n in zip(counts.index, sums, strict=True)]
    headings = [style.fit_label(column) for column in counts.columns]
    cell_width = 0.09 + 0.065 * len(str(cells.max(initial=0)))  # inches; fits the longest count
    left = max(map(style.text_width, names)) + 0.32
    width = max(style.WIDTH, left + cell_width * len(headings) + 0.1)
    cell_height = max(0.17, min(0.26, 2.2 / len(names)))
    figure = style.new_figure(cell_height * len(names) + max(map(style.text_width, headings)) + 0.85, width)
    axes = figure.add_subplot()
    mesh = axes.pcolormesh(shares, cmap="Blues", vmin=0, vmax=100, edgecolor="white", lw=0.4)
    axes.invert_yaxis()
    for row, column in zip(*np.nonzero(cells), strict=True):
        axes.text(
            column + 0.5,
            row + 0.5,
            str(cells[row, column]),
            ha="center",
            va="center_baseline",
            color="white" if shares[row, column] > 55 else style.INK,
        )
    if apart:
        axes.axvline(len(headings) - apart, color=style.INK, lw=1.0)
    axes.set_xticks(np.arange(len(headings)) + 0.5, headings, rotation=90)
    axes.set_yticks(np.arange(len(names)) + 0.5, names)
    axes.tick_params(length=0)
    axes.set_xlabel(columns)
    axes.set_ylabel(rows)
    bar_length = 1.3  # inches
    bar = figure.colorbar(
        mesh,
        ax=axes,
        location="top",
        ticks=[0, 50, 100],
        label="% of the row",
        shrink=min(1.0, bar_length / (width - left)),
        aspect=bar_length / 0.055,
        pad=0.06 / (cell_height * len(names)),
    )
    bar.outline.set_linewidth(0.4)
    style.add_texts(figure, title, caption)
    return figure
