"""The protocol of embedders, and the checks of their vectors."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mmerg.errors import ConfigError

WHERE, HINT = "memory.embedder", "use a model that returns a vector for every text"
BATCH = 128  # texts between two reports of progress
Vectors = npt.NDArray[np.float32]


class NoVectorError(ConfigError):
    """The embedder returned no vector for a text. A build then ends; in a run, the sample gets no exemplars."""


class Embedder(Protocol):
    """A model that turns texts into vectors. Several threads call it. It may have a `close()` that cancels `embed`."""

    def identity(self) -> str:
        """Returns all that vectors depend on: digests of model and tokenizer, versions, pooling, lengths, machine."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns a unit vector for each text, float32 [texts, dimensions]. It must depend only on its text."""


def scale_to_unit(vectors: npt.ArrayLike) -> Vectors:
    """Scales `vectors` [texts, dimensions] to length 1. A vector of zeros becomes NaN."""
    array = np.asarray(vectors, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled: Vectors = (array / np.linalg.norm(array, axis=-1, keepdims=True)).astype(np.float32)
    return scaled


def check_vectors(vectors: Vectors, names: Sequence[str], dimensions: int | None = None) -> Vectors:
    """Returns `vectors` unchanged. names: of the texts, for errors. Raises NoVectorError if a vector is not of length
    1, and ConfigError if the array has another shape than [names, dimensions]."""
    if vectors.ndim != 2 or vectors.shape != (len(names), dimensions or vectors.shape[1]):
        what = f"the embedder returned an array of shape {vectors.shape} for {len(names)} texts"
        others = f", and other texts have {dimensions} dimensions" if dimensions else ""
        raise ConfigError(what + others, where=WHERE, hint=HINT)
    with np.errstate(invalid="ignore", over="ignore"):
        is_unit = np.abs(np.linalg.norm(vectors, axis=1) - 1) < 1e-3
    if not is_unit.all():
        name = names[int(np.argmin(is_unit))]
        raise NoVectorError(f"the embedder returned no unit vector for {name}", where=WHERE, hint=HINT)
    return vectors


def embed_all(
    embedder: Embedder, texts: Sequence[str], names: Sequence[str], progress: Callable[[int, int], None]
) -> Vectors:
    """Embeds many texts, [texts, dimensions], and checks their vectors. Equal texts are embedded once. names: of the
    texts, for errors. progress: is called with the number of distinct texts embedded so far, and that of all."""
    first_names = dict(zip(reversed(texts), reversed(names), strict=True))
    distinct = list(dict.fromkeys(texts))
    parts: list[Vectors] = []
    for start in range(0, len(distinct), BATCH):
        batch = distinct[start : start + BATCH]
        dimensions = parts[0].shape[1] if parts else None
        parts.append(check_vectors(embedder.embed(batch), [first_names[text] for text in batch], dimensions))
        progress(start + len(batch), len(distinct))
    rows = {text: row for row, text in enumerate(distinct)}
    vectors: Vectors = np.concatenate(parts)[[rows[text] for text in texts]]
    return vectors
