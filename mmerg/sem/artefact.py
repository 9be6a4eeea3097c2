"""A trained small empathetic model: one JSON file of words and numbers. Loading it runs no foreign code and needs no
scikit-learn."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import FiniteFloat, model_validator

from mmerg.errors import ConfigError
from mmerg.scoring.score import Score
from mmerg.sem.words import words_in
from mmerg.storage.files import describe_error, write_atomically
from mmerg.storage.record import Record, read_record
from mmerg.storage.words import is_distinctive, split_bare_words, split_ngrams

HINT = "mmerg train dataset=… dataset.root=… out=sem.json makes one"
RUN = 3  # words in a row
SAME = 0.4  # a dialogue is a copy of a training conversation that contains this share of its runs
LEAST_SAME = 8  # fewer runs may be equal by chance
DIGITS = 8  # hexadecimal digits of a run's digest
Floats = npt.NDArray[np.floating[Any]]


class Data(Record):
    """A split of a corpus. digest: SHA-256 (hex) of the histories, and of the labels if they were used."""

    corpus: str
    split: str
    samples: int
    digest: str


class Causes(Record):
    """The set S: the k1 most salient words of each history in `over`. high: the words whose intensity and IDF are both
    above the means over S, or None without a lexicon. lexicon: SHA-256 (hex) of its file."""

    over: Data
    k1: int
    words: tuple[str, ...]
    high: tuple[str, ...] | None = None
    mean_idf: float
    mean_intensity: float | None = None
    lexicon: str | None = None


class Sem(Record):
    """A multinomial logistic regression over tf-idf or, with an embedder, over embeddings of histories. The paper's
    model, ESCM, is published only in compiled form.

    scores, confusion: on the validation split; confusion[i][j] counts samples with labels[i] that were predicted as
    labels[j]. embedder: its identity. conversations: the joined `run_digests` of each conversation of both splits.
    words, idf: the columns of tf-idf, empty with an embedder. weights: [labels, columns]. bias: [labels].
    """

    version: Literal[7] = 7
    labels: tuple[str, ...]
    trained_on: Data
    validated_on: Data
    scores: Mapping[str, Score] = {}
    confusion: tuple[tuple[int, ...], ...] = ()
    causes: Causes
    embedder: str | None = None
    conversations: tuple[str, ...]
    words: tuple[str, ...] = ()
    idf: tuple[FiniteFloat, ...] = ()
    weights: tuple[tuple[FiniteFloat, ...], ...]
    bias: tuple[FiniteFloat, ...]

    @model_validator(mode="after")
    def _check_sizes(self) -> "Sem":
        columns = len(self.weights[0]) if self.embedder and self.weights else len(self.words)
        sizes = [len(row) for row in self.weights], len(self.bias), len(self.idf)
        if sizes != ([columns] * len(self.labels), len(self.labels), len(self.words)):
            raise ValueError("weights, bias and idf do not have the sizes of labels and words")
        return self

    @cached_property
    def _matrix(self) -> Floats:
        return np.array(self.weights)

    @cached_property
    def _column(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _runs(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The sorted digests of all runs, and the number of each one's conversation."""
        digests = np.frombuffer(bytes.fromhex("".join(self.conversations)), ">u4")
        numbers = np.repeat(
            np.arange(len(self.conversations)), [len(digests) // DIGITS for digests in self.conversations]
        )
        order = np.argsort(digests, kind="stable")
        return digests[order].astype(np.uint32), numbers[order]

    @property
    def transductive(self) -> bool:
        """Whether S is over another split than the training split."""
        return self.causes.over.split != self.trained_on.split

    def predict(self, history: Sequence[str], embedding: Floats | None = None) -> dict[str, float]:
        """The probability of each label, the highest first; ties in the order of labels. history: the texts of the
        turns. embedding: of the history, [dimensions], for a model with an embedder."""
        if embedding is None:
            counts = Counter(self._column[word] for word in words_in(history) if word in self._column)
            columns = list(counts)
            values = np.array([count * self.idf[column] for column, count in counts.items()])
            scores = self._matrix[:, columns] @ (values / (np.linalg.norm(values) or 1.0)) + self.bias
        else:
            scores = self._matrix @ embedding + self.bias
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        return {self.labels[number]: float(chances[number]) for number in np.argsort(-chances, kind="stable")}

    def was_fitted_to(self, texts: Sequence[str]) -> bool:
        """Whether the turns of a sample are nearly a copy of a training or validation conversation.

        This is so if one conversation contains a share `SAME` of its runs of three words (containment, Broder, 1997). A
        sample of few words is a copy if a conversation contains all of it and no turn is short, or if it is the whole
        conversation and not all turns are short.
        """
        own, (digests, numbers) = run_digests(texts), self._runs
        wanted = np.array([int(digest, 16) for digest in own], np.uint32)
        ends = zip(np.searchsorted(digests, wanted), np.searchsorted(digests, wanted, "right"), strict=True)
        shared = Counter(number for start, end in ends for number in numbers[start:end].tolist())
        same = max(shared.values(), default=0)
        if same >= max(LEAST_SAME, SAME * len(own)):
            return True
        whole = any(shared[number] * DIGITS == len(self.conversations[number]) for number in shared)
        return 0 < len(own) == same and (any if whole else all)(map(is_distinctive, texts))

    def cause_words(self, history: Sequence[str]) -> tuple[list[str], list[str]]:
        """The high and the low words of S in a history, each once, in order."""
        in_s, high = set(self.causes.words), set(self.causes.high or ())
        words = dict.fromkeys(word for word in words_in(history) if word in in_s)
        return [word for word in words if word in high], [word for word in words if word not in high]


def run_digests(texts: Sequence[str]) -> list[str]:
    """The digests by which a model recognises a dialogue: one for each distinct run of three words."""
    runs = dict.fromkeys(split_ngrams(" ".join(word for text in texts for word in split_bare_words(text)), RUN))
    return [hashlib.sha256(" ".join(run).encode()).hexdigest()[:DIGITS] for run in runs]


def write(path: Path, model: Sem) -> None:
    """Write the file with one field per line, whole or not at all. Raises RunError if it cannot be written."""
    fields = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in model.model_dump(mode="json").items())
    write_atomically(path, "{\n" + ",\n".join(fields) + "\n}\n")


def read(path: Path) -> Sem:
    """The model in a file. Raises ConfigError if the file is missing or unusable."""
    try:
        return read_record(path, Sem)
    except FileNotFoundError as error:
        raise ConfigError("the small empathetic model does not exist", where=str(path), hint=HINT) from error
    except (OSError, ValueError) as error:
        hint = f"train it again: {HINT}"
        raise ConfigError(f"this model cannot be used: {describe_error(error)}", where=str(path), hint=hint) from error
