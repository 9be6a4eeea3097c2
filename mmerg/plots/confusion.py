"""Gold label against forecast, from a run's scores; samples without a forecast stand in a column apart."""

from __future__ import annotations

import numpy as np

from mmerg.plots.matrix import Matrix
from mmerg.scoring.score import Confusion


def matrix(confusion: Confusion) -> Matrix:
    """Shape [labels, labels + 1]; the last column holds the failures."""
    size = len(confusion.labels)
    counts = np.zeros((size, size + 1), np.int64)
    counts[:, :size] = np.array(confusion.counts, np.int64).reshape(size, size)
    counts[:, size] = confusion.failed
    return Matrix(confusion.labels, (*confusion.labels, "failed"), counts, apart=1)
