"""Ranks vectors by cosine: faiss over vectors of length 1, with what faiss leaves undone put right.

Exact (IndexFlatIP), so recall is 1. faiss gives equal scores in any order and cuts them anywhere at k, and pads with -1
where k is more than it holds: none of this shows here.

    index = build(vectors)
    for number, similarity in ranked(index, vector): ...
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mmerg.memory.vectors import Vectors

FIRST = 32  # what is asked for at first; the next search, if more is wanted, asks for GROWTH times as much
GROWTH = 8


def build(vectors: Vectors) -> Any:
    """A faiss index over `vectors` [entries, dimensions], all of length 1."""
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors, dtype=np.float32))
    return index


def save(index: Any, path: Path) -> None:
    """Write the index to a file. Raises OSError where the system refuses."""
    import faiss

    path.write_bytes(faiss.serialize_index(index).tobytes())  # faiss's own writing has one error for all


def load(path: Path) -> Any:
    """The index in a file, whose vectors stay there: the system reads them in as they are needed, once for all
    processes. Raises RuntimeError for a file that is no index."""
    import faiss

    return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)  # IO_FLAG_MMAP reads a flat index whole


def ranked(index: Any, vector: Vectors) -> Iterator[tuple[int, float]]:
    """(number, cosine) of all entries, the most similar first, equal ones by number. `vector` is [dimensions]. Cosines
    are rounded to six places, so that a text's with itself is 1.

    The search goes deeper as more is taken. What has the lowest score found may go on below it, so that is held back
    until a deeper search.
    """
    total, wanted = int(index.ntotal), FIRST
    given: set[int] = set()
    while len(given) < total:
        wanted = min(wanted, total)
        scores, numbers = (found[0] for found in index.search(vector[None].astype(np.float32), wanted))
        whole = np.ones(wanted, dtype=bool) if wanted == total else scores > scores[-1]
        for place in np.lexsort((numbers[whole], -scores[whole])):
            number = int(numbers[place])  # the scores fall, so `whole` is a prefix
            if number not in given:
                given.add(number)
                yield number, round(float(scores[place]), 6)
        wanted *= GROWTH
