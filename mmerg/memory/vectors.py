"""The protocol of embedders, and the checks of their vectors."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mmerg.errors import Failure, SampleError

BATCH = 128  # texts between two reports of progress
Vectors = npt.NDArray[np.float32]


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


def check_vectors(vectors: Vectors, names: Sequence[str]) -> Vectors:
    """Returns `vectors` [names, dimensions] unchanged. names: of the texts, for errors. Raises SampleError if a vector
    is not of length 1, so that a build ends, and a sample of a run fails."""
    with np.errstate(invalid="ignore", over="ignore"):
        is_unit = np.abs(np.linalg.norm(vectors, axis=1) - 1) < 1e-3
    for name, unit in zip(names, is_unit, strict=True):
        if not unit:
            what, hint = f"the embedder returned no unit vector for {name}", "use a model that embeds every text"
            raise SampleError(Failure.CODE_ERROR, what, where="memory.embedder", hint=hint)
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
        parts.append(check_vectors(embedder.embed(batch), [first_names[text] for text in batch]))
        progress(start + len(batch), len(distinct))
    rows = {text: row for row, text in enumerate(distinct)}
    vectors: Vectors = np.concatenate(parts)[[rows[text] for text in texts]]
    return vectors
