"""Which plan goes with which forecast emotion: tone, stance, goal or tactic of the selected pass's plan.

MERG (arXiv 2604.18988) draws tone and stance by emotion. A plan that is text, a failed sample, and a reply without
forecast or plan are not in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mmerg.plots import matrix
from mmerg.plots.matrix import Matrix
from mmerg.plots.scored import caption
from mmerg.runs.manifest import About
from mmerg.runs.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(about: About, results: Iterable[Result], dimension: str) -> Figure | None:
    """The figure of a run; None where no sample has a forecast and such a plan."""
    vocabulary = about.manifest.setting(f"system.vocabulary.{dimension}", ())
    table = by_emotion(results, dimension, about.manifest.corpus.labels, vocabulary)
    title = f"{dimension.capitalize()} by forecast emotion, n={table.n.sum()}"
    return matrix.draw(table, title, caption([about]), "forecast emotion", dimension) if table.rows else None


def by_emotion(
    results: Iterable[Result], dimension: str, emotions: Sequence[str] = (), vocabulary: Sequence[str] = ()
) -> Matrix:
    """Counts with a row for each emotion and a column for each word of `dimension`, in the order given; what occurs
    beside these comes after them, in the order of the alphabet. Shape [0, …] where no result has such a plan."""
    counts: Counter[tuple[str, str]] = Counter()
    for result in results:
        if result.emotion is not None and isinstance(result.plan, dict):
            word = result.plan.get(dimension)
            if isinstance(word, str):
                counts[result.emotion, word] += 1
    if not counts:
        return Matrix((), tuple(vocabulary), np.zeros((0, len(vocabulary)), np.int64))
    rows = _with(emotions, {emotion for emotion, _ in counts})
    columns = _with(vocabulary, {word for _, word in counts})
    return Matrix(rows, columns, np.array([[counts[row, column] for column in columns] for row in rows], np.int64))


def _with(known: Sequence[str], found: set[str]) -> tuple[str, ...]:
    return (*known, *sorted(found - set(known)))
