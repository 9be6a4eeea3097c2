"""Ranks vectors by cosine: faiss over vectors of length 1, with what faiss leaves pending put right.

Exact (IndexFlatIP), so recall is 1. faiss gives equal scores in any order and cuts them anywhere at k, and pads with -1
where k is more than it holds: none of this shows here.

    index = build(vectors)
    for number, similarity in ranked(index, vector): ...
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from mmerg.errors import ConfigError
from mmerg.memory.vectors import HINT, WHERE, Vectors

FIRST = 32  # what is asked for at first; the next search, if more is wanted, asks for GROWTH times as much
GROWTH = 8
PLACES = 6  # of a cosine, so that a text's with itself is 1


class Index(Protocol):
    """What is used of a faiss index. ntotal: how many vectors it holds, d: their dimensions."""

    ntotal: int
    d: int

    def search(self, queries: Vectors, k: int, /) -> tuple[Vectors, npt.NDArray[np.int64]]:
        """Cosines and numbers of the nearest k for each query, both [queries, k]."""


def build(vectors: Vectors) -> Index:
    """A faiss index over `vectors` [entries, dimensions], all of length 1."""
    import faiss

    made = faiss.IndexFlatIP(vectors.shape[1])
    made.add(np.ascontiguousarray(vectors, dtype=np.float32))
    index: Index = made
    return index


def save(index: Index, path: Path) -> None:
    """Write the index to a file. Raises OSError where the system refuses."""
    import faiss

    path.write_bytes(faiss.serialize_index(cast(Any, index)).tobytes())  # faiss's own writing has one error for all


def load(path: Path) -> Index:
    """The index in a file, whose vectors stay there: the system reads them in as they are needed, once for all
    processes. Raises RuntimeError for a file that is no index."""
    import faiss

    index: Index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)  # IO_FLAG_MMAP reads a flat index whole
    return index


def ranked(index: Index, vector: Vectors) -> Iterator[tuple[int, float]]:
    """(number, cosine) of all entries, the most similar first, equal ones by number. `vector` is [dimensions]. Cosines
    are rounded to six places, and equal is what is equal then. Raises ConfigError for a vector of other dimensions.

    The search goes deeper as more is taken. What has the lowest score found may go on below it, so that is held back
    until a deeper search.
    """
    if vector.shape != (index.d,):
        what = f"the embedder gave a vector of shape {vector.shape}, and the memory's have {index.d} dimensions"
        raise ConfigError(what, where=WHERE, hint=HINT)
    total, wanted = int(index.ntotal), FIRST
    given: set[int] = set()
    while len(given) < total:
        wanted = min(wanted, total)
        cosines, numbers = (found[0] for found in index.search(vector[None].astype(np.float32), wanted))
        scores = np.round(cosines.astype(np.float64), PLACES)
        whole = np.ones(wanted, dtype=bool) if wanted == total else scores > scores[-1]
        for place in np.lexsort((numbers[whole], -scores[whole])):
            number = int(numbers[place])  # the scores fall, so `whole` is a prefix
            if number not in given:
                given.add(number)
                yield number, float(scores[place])
        wanted *= GROWTH
