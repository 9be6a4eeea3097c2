"""Vectors: what an embedder is, what is checked of its vectors, and ranking them by cosine with faiss.

The ranking is exact (IndexFlatIP), and complete: faiss gives equal scores in any order and cuts them anywhere.

    index = build(unit([[1.0, 2.0], [3.0, 4.0]]))
    for number, similarity in ranked(index, vector): ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from mmerg.errors import ConfigError

WHERE, HINT = "memory.embedder", "use a model that gives every text a vector"
PLACES = 6  # of a cosine, so that a text's with itself is 1
Vectors = npt.NDArray[np.float32]


class NoVectorError(ConfigError):
    """The embedder gave no vector for one text: ends a build, and costs a sample its exemplars, no more."""


class Embedder(Protocol):
    """Turns texts into vectors. Safe to call from several threads."""

    def identity(self) -> str:
        """What a vector depends on: digests of model and tokenizer, versions of packages, pooling, lengths, machine."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector of length 1 for each text, float32 [texts, dimensions]; the same text always gives the same,
        whatever stands beside it."""


class Index(Protocol):
    """What is used of a faiss index. ntotal: how many vectors it holds, d: their dimensions."""

    ntotal: int
    d: int

    def search(self, queries: Vectors, k: int, /) -> tuple[Vectors, npt.NDArray[np.int64]]:
        """Cosines and numbers of the nearest k for each query, both [queries, k]."""


def unit(vectors: npt.ArrayLike) -> Vectors:
    """`vectors` [texts, dimensions] scaled to length 1; one of zeros alone becomes no number."""
    array = np.asarray(vectors, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled: Vectors = (array / np.linalg.norm(array, axis=-1, keepdims=True)).astype(np.float32)
    return scaled


def checked(vectors: Vectors, names: Sequence[str]) -> Vectors:
    """`vectors` as an embedder gave them for what `names` names. Raises NoVectorError, with the name, for one that
    is not of length 1, ConfigError for an array of another shape."""
    if vectors.ndim != 2 or len(vectors) != len(names) or not vectors.shape[1]:
        what = f"the embedder gave an array of shape {vectors.shape} for {len(names)} texts"
        raise ConfigError(what, where=WHERE, hint=HINT)
    with np.errstate(invalid="ignore", over="ignore"):
        sound = np.abs(np.linalg.norm(vectors, axis=1) - 1) < 1e-3
    if not sound.all():
        name = names[int(np.argmin(sound))]
        raise NoVectorError(f"the embedder gave no vector of length 1 for {name}", where=WHERE, hint=HINT)
    return vectors


def build(vectors: Vectors) -> Index:
    """A faiss index over `vectors` [entries, dimensions], all of length 1."""
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors, dtype=np.float32))
    return cast(Index, index)


def save(index: Index, path: Path) -> None:
    """Write the index to a file. Raises OSError where the system refuses; faiss's own writing has one error for all."""
    import faiss

    path.write_bytes(faiss.serialize_index(cast(Any, index)).tobytes())


def load(path: Path) -> Index:
    """The index in a file, whose vectors stay there: the system reads them in as they are needed, once for all
    processes. Raises RuntimeError for a file that is no index."""
    import faiss

    return cast(Index, faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC))  # IO_FLAG_MMAP reads a flat index whole


def ranked(index: Index, vector: Vectors) -> Iterator[tuple[int, float]]:
    """(number, cosine rounded to six places) of all entries, the most similar first, equal ones by number. `vector` is
    [dimensions]; raises ConfigError where they are others."""
    if vector.shape != (index.d,):
        what = f"the embedder gave a vector of shape {vector.shape}, and the memory's have {index.d} dimensions"
        raise ConfigError(what, where=WHERE, hint=HINT)
    cosines, numbers = (found[0] for found in index.search(vector[None].astype(np.float32), index.ntotal))
    scores = np.round(cosines.astype(np.float64), PLACES)
    for place in np.lexsort((numbers, -scores)):
        yield int(numbers[place]), float(scores[place])
