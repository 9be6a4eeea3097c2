"""The models: multinomial logistic regression over the tf-idf of a history's words, and over its embedding. The
paper's, ESCM, cannot be rebuilt, as only compiled files of it are public.

    model.predict(["I lost my job."])    # {"sad": 0.41, …}
    model.salience(["I lost my job."])   # [(1, "job", 0.93), …]
    dense.predict(vector)                # {"sad": 0.44, …}
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Columns = npt.NDArray[np.intp]
_WORD = re.compile(r"\w+(?:'\w+)*")


def words_of(text: str) -> list[str]:
    """In order, repeated ones too; case and punctuation gone: "I’m FINE." gives i'm, fine."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))


def text_of(history: Sequence[str]) -> str:
    """The turns of a history, each on a line, as an embedder is given them."""
    return "\n".join(" ".join(text.split()) for text in history)


def tfidf(history: Sequence[str], column: Mapping[str, int], idf: Floats) -> tuple[Columns, Floats]:
    """The columns of the known words of a history, the texts of its turns, and their tf-idf, of length 1 in all."""
    counts = Counter(column[word] for text in history for word in words_of(text) if word in column)
    columns = np.fromiter(counts, np.intp, len(counts))
    values = np.fromiter(counts.values(), np.float64, len(counts)) * idf[columns]
    return columns, values / (np.linalg.norm(values) or 1.0)


@dataclass(frozen=True)
class Dense:
    """weights: [labels, dimensions]; bias: [labels]."""

    labels: tuple[str, ...]
    weights: Floats
    bias: Floats

    def predict(self, vector: Floats) -> dict[str, float]:
        """The probability of each label, the most probable first; of equal ones in the order of labels. vector:
        [dimensions]."""
        scores = self.weights.astype(np.float64) @ vector + self.bias
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        return {self.labels[number]: float(chances[number]) for number in np.argsort(-chances, kind="stable")}


@dataclass(frozen=True)
class Model:
    """column: where each word stands. idf: [words]; weights: [labels, words]; bias: [labels]."""

    labels: tuple[str, ...]
    column: Mapping[str, int]
    idf: Floats
    weights: Floats
    bias: Floats

    def predict(self, history: Sequence[str]) -> dict[str, float]:
        """As `Dense.predict`, of the texts of a history."""
        columns, values = tfidf(history, self.column, self.idf)
        return Dense(self.labels, self.weights[:, columns], self.bias).predict(values)

    def salience(self, history: Sequence[str]) -> list[tuple[int, str, float]]:
        """The known words, each with the turn (from 1) where it first stands and |coefficient × tf-idf| for the label
        that is predicted, the weightiest first."""
        columns, values = tfidf(history, self.column, self.idf)
        label = self.labels.index(next(iter(self.predict(history))))
        weights = dict(zip(columns.tolist(), np.abs(self.weights[label, columns] * values).tolist(), strict=True))
        first: dict[str, int] = {}
        for turn, text in enumerate(history, start=1):
            for word in words_of(text):
                first.setdefault(word, turn)
        known = [(turn, word, weights[self.column[word]]) for word, turn in first.items() if word in self.column]
        return sorted(known, key=lambda one: -one[2])
