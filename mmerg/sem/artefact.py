"""A trained small empathetic model: JSON of words and numbers. Loading it runs no code, and needs no scikit-learn."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import FiniteFloat

from mmerg.errors import ConfigError
from mmerg.scoring.score import Score
from mmerg.storage.files import write_atomically
from mmerg.storage.record import Record, read_record
from mmerg.storage.words import is_distinctive, split_bare_words, split_ngrams, split_words

HINT = "mmerg train dataset=… dataset.root=… out=sem.json makes one"
NGRAM = 3  # consecutive words
COPIED_SHARE = 0.4  # a dialogue is a copy of a training conversation that contains this share of its n-grams
MIN_COPIED = 8  # fewer n-grams may be equal by chance
DIGITS = 8  # hexadecimal digits of an n-gram's digest
Floats = npt.NDArray[np.floating[Any]]


class SplitData(Record):
    """A split of a corpus."""

    corpus: str
    split: str
    samples: int
    digest: str  # SHA-256 (hex) of the histories, and of the labels if they were used


class Causes(Record):
    """The set S: the k1 most salient words of each history in the split `over`."""

    over: SplitData
    k1: int
    words: tuple[str, ...]
    high: tuple[str, ...] | None = None  # with intensity and IDF above the means over S; None without a lexicon
    mean_idf: float
    mean_intensity: float | None = None
    lexicon: str | None = None  # SHA-256 (hex) of its file


class Sem(Record):
    """A multinomial logistic regression over the tf-idf of histories. (The paper's model, ESCM, is published only in
    compiled form.)"""

    version: Literal[8] = 8
    labels: tuple[str, ...]
    trained_on: SplitData
    validated_on: SplitData
    scores: Mapping[str, Score] = {}  # on the validation split
    confusion: tuple[tuple[int, ...], ...] = ()  # on the same: samples of labels[i] predicted as labels[j], [i][j]
    causes: Causes
    conversations: tuple[str, ...]  # `digest_ngrams` of each conversation in both splits, joined
    words: tuple[str, ...]
    idf: tuple[FiniteFloat, ...]  # of each word
    weights: tuple[tuple[FiniteFloat, ...], ...]  # [labels, words]
    bias: tuple[FiniteFloat, ...]  # [labels]

    @cached_property
    def _matrix(self) -> Floats:
        return np.array(self.weights)

    @cached_property
    def _column(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _ngrams(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The sorted digests of all n-grams, and the index of each one's conversation."""
        digests = np.frombuffer(bytes.fromhex("".join(self.conversations)), ">u4")
        counts = [len(joined) // DIGITS for joined in self.conversations]
        indices = np.repeat(np.arange(len(counts)), counts)
        order = np.argsort(digests, kind="stable")
        return digests[order].astype(np.uint32), indices[order]

    @property
    def transductive(self) -> bool:
        """True if S is computed over another split than the training split."""
        return self.causes.over.split != self.trained_on.split

    def predict(self, history: Sequence[str]) -> dict[str, float]:
        """Returns the probability of each label, the highest first and ties in the order of the labels. history: the
        texts of the turns."""
        counts = Counter(self._column[word] for word in split_history(history) if word in self._column)
        columns = list(counts)
        values = np.array([count * self.idf[column] for column, count in counts.items()])
        scores = self._matrix[:, columns] @ (values / (np.linalg.norm(values) or 1.0)) + self.bias
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        return {self.labels[number]: float(chances[number]) for number in np.argsort(-chances, kind="stable")}

    def was_fitted_to(self, texts: Sequence[str]) -> bool:
        """Returns True if the turns of a sample are nearly a copy of a training or validation conversation.

        That is so if one conversation contains a share `COPIED_SHARE` of their n-grams (containment, Broder, 1997). A
        sample of few words is a copy if a conversation contains all of it and no turn is short, or if it is the whole
        conversation and not all turns are short.
        """
        ngrams = digest_ngrams(texts)
        digests, conversations = self._ngrams
        wanted = np.array([int(digest, 16) for digest in ngrams], np.uint32)
        starts, ends = np.searchsorted(digests, wanted), np.searchsorted(digests, wanted, "right")
        shared: Counter[int] = Counter()  # the number of common n-grams, by the index of the conversation
        for start, end in zip(starts, ends, strict=True):
            shared.update(conversations[start:end].tolist())
        most_shared = max(shared.values(), default=0)
        if most_shared >= max(MIN_COPIED, COPIED_SHARE * len(ngrams)):
            return True
        if not ngrams or most_shared != len(ngrams):
            return False
        is_whole = any(count * DIGITS == len(self.conversations[index]) for index, count in shared.items())
        distinctive = map(is_distinctive, texts)
        return any(distinctive) if is_whole else all(distinctive)

    def find_cause_words(self, history: Sequence[str]) -> tuple[list[str], list[str]]:
        """Returns the high and the low words of S in a history, each once, in order."""
        in_s, high = set(self.causes.words), set(self.causes.high or ())
        words = dict.fromkeys(word for word in split_history(history) if word in in_s)
        return [word for word in words if word in high], [word for word in words if word not in high]


def split_history(history: Sequence[str]) -> list[str]:
    """Returns the words of all turns, in order, with repeats."""
    return [word for text in history for word in split_words(text)]


def digest_ngrams(texts: Sequence[str]) -> list[str]:
    """Returns the digests by which a model recognises a dialogue: one for each distinct n-gram."""
    words = " ".join(word for text in texts for word in split_bare_words(text))
    ngrams = dict.fromkeys(split_ngrams(words, NGRAM))
    return [hashlib.sha256(" ".join(ngram).encode()).hexdigest()[:DIGITS] for ngram in ngrams]


def write_sem(path: Path, model: Sem) -> None:
    """Writes the model in one step, with one field per line. Raises RunError if the file cannot be written."""
    fields = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in model.model_dump(mode="json").items())
    write_atomically(path, "{\n" + ",\n".join(fields) + "\n}\n")


def read_sem(path: Path) -> Sem:
    """Reads a model. Raises ConfigError if the file is missing, and RunError if it is no model."""
    try:
        return read_record(path, Sem, f"train it again: {HINT}")
    except FileNotFoundError as error:
        raise ConfigError("the small empathetic model does not exist", where=str(path), hint=HINT) from error
