"""Vectors, and what an embedder is: any object that gives each text a vector and says what it is.

class Mine:
    def identity(self) -> str: ...
    def embed(self, texts): ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mmerg.errors import ConfigError

WHERE, HINT = "memory.embedder", "use a model that gives every text a vector"
Vectors = npt.NDArray[np.float32]


class NoVectorError(ConfigError):
    """The embedder gave no vector for one text: ends a build, and costs a sample its exemplars, no more."""


class Embedder(Protocol):
    """Turns texts into vectors. Safe to call from several threads."""

    def identity(self) -> str:
        """What a vector depends on, as far as it is known: digests of model and tokenizer, versions of packages,
        pooling, lengths, kind of machine."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector of length 1 for each text, float32 [texts, dimensions]; the same text always gives the same,
        whatever stands beside it."""


def unit(vectors: npt.ArrayLike) -> Vectors:
    """`vectors` [texts, dimensions] scaled to length 1; one of zeros alone becomes no number."""
    array = np.asarray(vectors, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled: Vectors = (array / np.linalg.norm(array, axis=-1, keepdims=True)).astype(np.float32)
    return scaled


def checked(vectors: Vectors, names: Sequence[str]) -> Vectors:
    """`vectors` as an embedder gave them for what `names` names. Raises NoVectorError, with the name, for one that
    holds no number or is not of length 1, ConfigError for an array of another shape."""
    if vectors.ndim != 2 or len(vectors) != len(names) or not vectors.shape[1]:
        raise ConfigError(
            f"the embedder gave an array of shape {vectors.shape} for {len(names)} texts", where=WHERE, hint=HINT
        )
    with np.errstate(invalid="ignore", over="ignore"):
        sound = np.abs(np.linalg.norm(vectors, axis=1) - 1) < 1e-3
    if not sound.all():
        name = names[int(np.argmin(sound))]
        raise NoVectorError(f"the embedder gave no vector of length 1 for {name}", where=WHERE, hint=HINT)
    return vectors
