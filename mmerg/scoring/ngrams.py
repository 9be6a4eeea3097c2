"""N-grams of replies as numbers, for figures over distinct ones. An n-gram never spans two replies.

grams = Grams.of(["so it is", "it is"], str.split, n=2)
grams.distinct(np.array([0, 1])), grams.total(np.array([0, 1]))    # 2, 3: (so it), (it is), (it is)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.metric import Indices


@dataclass(frozen=True)
class Grams:
    """ids: every n-gram of every reply, in order, by a number for each distinct one; lengths: how many each reply has;
    kinds: how many distinct ones there are."""

    ids: NDArray[np.intp]
    lengths: NDArray[np.intp]
    kinds: int

    @classmethod
    def of(cls, replies: Iterable[str | None], words: Callable[[str], Sequence[str]], n: int) -> Grams:
        """The n-grams of `replies`, None having none."""
        numbers: dict[tuple[str, ...], int] = {}
        ids: list[int] = []
        lengths: list[int] = []
        for reply in replies:
            tokens = words(reply) if reply else ()
            grams = [tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]
            ids += [numbers.setdefault(gram, len(numbers)) for gram in grams]
            lengths.append(len(grams))
        return cls(np.array(ids, np.intp), np.array(lengths, np.intp), len(numbers))

    def total(self, indices: Indices) -> int:
        """N-grams in the replies at `indices`, a reply counted as often as it is named."""
        return int(self.lengths[indices].sum())

    def distinct(self, indices: Indices) -> int:
        """Distinct n-grams in the replies at `indices`."""
        named = np.zeros(len(self.lengths), bool)
        named[indices] = True
        seen = np.zeros(self.kinds, bool)
        seen[self.ids[np.repeat(named, self.lengths)]] = True
        return int(np.count_nonzero(seen))

    def own_distinct(self) -> NDArray[np.intp]:
        """Shape [replies]: the distinct n-grams within each."""
        owner = np.repeat(np.arange(len(self.lengths)), self.lengths)
        pairs = np.unique(owner * max(self.kinds, 1) + self.ids)
        return np.bincount(pairs // max(self.kinds, 1), minlength=len(self.lengths))
