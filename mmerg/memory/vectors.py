"""What an embedder is, and what is checked of the vectors that it gives."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mmerg.errors import ConfigError

WHERE, HINT = "memory.embedder", "use a model that gives every text a vector"
AT_ONCE = 128  # texts between two reports of progress
Vectors = npt.NDArray[np.float32]


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


def check_vectors(vectors: Vectors, names: Sequence[str], dimensions: int | None = None) -> Vectors:
    """`vectors` as an embedder gave them for what `names` names. Raises NoVectorError, with the name, for one that
    is not of length 1, ConfigError for an array of another shape."""
    if vectors.ndim != 2 or vectors.shape != (len(names), dimensions or vectors.shape[1]):
        what = f"the embedder gave an array of shape {vectors.shape} for {len(names)} texts"
        other = f", and other texts have {dimensions} dimensions" if dimensions else ""
        raise ConfigError(what + other, where=WHERE, hint=HINT)
    with np.errstate(invalid="ignore", over="ignore"):
        sound = np.abs(np.linalg.norm(vectors, axis=1) - 1) < 1e-3
    if not sound.all():
        name = names[int(np.argmin(sound))]
        raise NoVectorError(f"the embedder gave no vector of length 1 for {name}", where=WHERE, hint=HINT)
    return vectors


def embed_all(
    embedder: Embedder, texts: Sequence[str], names: Sequence[str], progress: Callable[[int, int], None]
) -> Vectors:
    """The checked vectors of many texts, equal ones embedded once: [texts, dimensions]. names: what each text stands
    for, for errors. progress: is given how many of how many distinct texts are embedded."""
    name_of = dict(zip(reversed(texts), reversed(names), strict=True))  # the first name of each text
    distinct = list(dict.fromkeys(texts))
    parts: list[Vectors] = []
    for start in range(0, len(distinct), AT_ONCE):
        batch = distinct[start : start + AT_ONCE]
        dimensions = parts[0].shape[1] if parts else None
        parts.append(check_vectors(embedder.embed(batch), [name_of[text] for text in batch], dimensions))
        progress(start + len(batch), len(distinct))
    row = {text: number for number, text in enumerate(distinct)}
    vectors: Vectors = np.concatenate(parts)[[row[text] for text in texts]]
    return vectors
