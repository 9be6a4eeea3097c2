"""Vectors: what an embedder is, what is checked of its vectors, and their exact ranking by cosine, with faiss."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from mmerg.errors import ConfigError

WHERE, HINT = "memory.embedder", "use a model that gives every text a vector"
PLACES = 6  # of a cosine, so that a text's with itself is 1
AT_ONCE = 128  # texts between two reports of progress
FIRST = 256  # so many are sorted first: mostly they are enough
Vectors = npt.NDArray[np.float32]
Cosines = npt.NDArray[np.float64]


class NoVectorError(ConfigError):
    """The embedder gave no vector for one text: ends a build, and costs a sample its exemplars, no more."""


class Embedder(Protocol):
    """Turns texts into vectors. Safe to call from several threads. May have a `close()` that breaks off `embed`."""

    def identity(self) -> str:
        """What a vector depends on: digests of model and tokenizer, versions of packages, pooling, lengths, machine."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector of length 1 for each text, float32 [texts, dimensions]; the same text always gives the same,
        whatever stands beside it."""


def unit(vectors: npt.ArrayLike) -> Vectors:
    """`vectors` [texts, dimensions] scaled to length 1; one of zeros alone becomes no number."""
    array = np.asarray(vectors, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled: Vectors = (array / np.linalg.norm(array, axis=-1, keepdims=True)).astype(np.float32)
    return scaled


def embedded(embedder: Embedder, texts: Sequence[str], done: Callable[[int, int], None]) -> Vectors:
    """What the embedder gives for the texts, not checked yet: [texts, dimensions]. done: is told how many of how many
    have theirs. Raises ConfigError where the arrays do not belong together."""
    parts: list[Vectors] = []
    for start in range(0, len(texts), AT_ONCE):
        parts.append(embedder.embed(texts[start : start + AT_ONCE]))
        if parts[-1].shape[1:] != parts[0].shape[1:]:
            what = f"the embedder gave arrays of shapes {parts[0].shape} and {parts[-1].shape}"
            raise ConfigError(what, where=WHERE, hint=HINT)
        done(min(start + AT_ONCE, len(texts)), len(texts))
    return np.concatenate(parts)


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


def cosines(vectors: Vectors, vector: Vectors) -> Cosines:
    """The cosine, rounded to six places, of `vector` [dimensions] and each of `vectors` [entries, dimensions]: equal
    ones have equal cosines wherever they stand. Raises ConfigError where the dimensions are others."""
    if vector.shape != vectors.shape[1:]:
        what = f"the embedder gave a vector of shape {vector.shape}"
        raise ConfigError(f"{what}, and the memory's have {vectors.shape[1]} dimensions", where=WHERE, hint=HINT)
    import faiss

    asked, rows = (np.ascontiguousarray(array, dtype=np.float32) for array in (vector, vectors))
    found = np.empty(len(rows), dtype=np.float32)
    # Every row is added up in the same order here, as in no matrix product; a search would sort them, too.
    products = cast(Any, faiss).fvec_inner_products_ny
    products(*map(faiss.swig_ptr, (found, asked, rows)), len(asked), len(rows))
    return found.astype(np.float64).round(PLACES)


def ranked(scores: Cosines) -> Iterator[int]:
    """The number of every score, the highest first, equal ones by number."""
    least = np.partition(scores, -FIRST)[-FIRST] if len(scores) > FIRST else -np.inf
    for part in (scores >= least, scores < least):
        numbers = np.flatnonzero(part)
        yield from numbers[np.argsort(-scores[numbers], kind="stable")].tolist()
