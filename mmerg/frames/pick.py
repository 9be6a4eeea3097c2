"""Which candidates of a clip become its keyframes: arithmetic on times, thumbnails and sharpness.

Both ways give rising indices into the candidates: `k` of them, or all where there are fewer. The k largest differences
between neighbours are no third way: they cluster around cuts.

    representative(times, thumbs, sharpness, 4)  ->  [2, 7, 13, 18]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

# What a clip's whole duration weighs against visual change, in mean squared differences of thumbnails (values 0 to 1):
# a cut makes about 0.05, somebody talking 0.001. So cuts end segments, and a clip of little change is split evenly.
_TIME_WEIGHT = 0.02
_SHARP_ENOUGH = 0.7  # of the sharpest in the segment; below that a frame is only taken where nothing better is


def uniform(times: Sequence[float], k: int) -> list[int]:
    """The candidates nearest to the middles of `k` equal windows from the first to the last of `times` (seconds)."""
    if k >= len(times):
        return list(range(len(times)))
    width = (times[-1] - times[0]) / k
    taken: list[int] = []
    for window in range(k):
        middle = times[0] + (window + 0.5) * width
        # Leave enough candidates for the windows to come, and never go back.
        free = range(taken[-1] + 1 if taken else 0, len(times) - (k - window - 1))
        taken.append(min(free, key=lambda i: abs(times[i] - middle)))
    return taken


def representative(
    times: Sequence[float], thumbs: Sequence[NDArray[np.float32]], sharpness: Sequence[float], k: int
) -> list[int]:
    """One typical and sharp candidate from each of the `k` consecutive segments that differ least within themselves.

    times: seconds, rising. thumbs: small pictures of one shape, values 0 to 1. sharpness: any measure that grows with
    it. Segments are the exact optimum of k-means over thumbnails and time, restricted to consecutive frames (Fisher,
    "On grouping for maximum homogeneity", 1958). Of each, the frame nearest to its mean that is sharp enough is taken.
    """
    if k >= len(times):
        return list(range(len(times)))
    points = _points(times, thumbs)
    sharp = np.asarray(sharpness, dtype=np.float64)
    taken: list[int] = []
    for first, last in _segments(points, k):
        block, clear = points[first:last], sharp[first:last]
        distance = ((block - block.mean(axis=0)) ** 2).sum(axis=1)
        distance[clear < _SHARP_ENOUGH * clear.max()] = np.inf
        taken.append(first + int(np.argmin(distance)))
    return taken


def _points(times: Sequence[float], thumbs: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    """A row per candidate whose squared distances are mean squared differences of thumbnails plus weighted time."""
    flat = np.stack(thumbs).astype(np.float64).reshape(len(thumbs), -1)
    clock = (np.asarray(times) - times[0]) / max(times[-1] - times[0], 1e-9)
    return np.hstack([flat / np.sqrt(flat.shape[1]), np.sqrt(_TIME_WEIGHT) * clock[:, None]])


def _segments(points: NDArray[np.float64], k: int) -> list[tuple[int, int]]:
    """The `k` consecutive half-open index ranges with the least sum of squared distances to their means."""
    n = len(points)
    # A segment's spread is its sum of squares less the squared norm of its sum over its length.
    sums = np.vstack([np.zeros(points.shape[1]), points.cumsum(axis=0)])
    squares = np.concatenate([[0.0], (points**2).sum(axis=1).cumsum()])
    length = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    norms = np.stack([((sums - before) ** 2).sum(axis=1) for before in sums])
    spread = np.where(length > 0, squares[None, :] - squares[:, None] - norms / np.maximum(length, 1), np.inf)
    best = spread[0]  # best[j]: of points 0 to j - 1 in the segments so far
    cuts: list[NDArray[np.intp]] = []
    for _ in range(k - 1):
        total = best[:, None] + spread
        cuts.append(np.argmin(total, axis=0))
        best = total.min(axis=0)
    bounds = [n]
    for cut in reversed(cuts):
        bounds.append(int(cut[bounds[-1]]))
    return list(pairwise([0, *reversed(bounds)]))
