"""A trained model as a folder, `sem.json`, `weights.npz` and a page: written whole or not at all, and read only as
written.

artefact = read(Path("sem"))
artefact.cause_words(["I lost my job."])    # (["lost"], ["job"])
"""

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Literal

import numpy as np

from mmerg.errors import ConfigError
from mmerg.scoring.score import Score
from mmerg.sem.fit import Labelled, document_counts, idf
from mmerg.sem.lexicon import Lexicon
from mmerg.sem.model import Dense, Model, words_of
from mmerg.storage.files import PART, private_folder, sha256_of, why, write_whole, writing
from mmerg.storage.record import Record

CARD, WEIGHTS = "sem.json", "weights.npz"
ROUNDING = 1e-9
HINT = "mmerg train sem dataset=… dataset.root=… out=DIR makes one"


class Data(Record):
    """A part of a corpus. digest: SHA-256 (hex) of what was taken of it: histories, with labels where these count."""

    corpus: str
    split: str
    samples: int
    digest: str


class Causes(Record):
    """The set S: of every history in `over` the k1 words of highest salience. high: those of S whose intensity and IDF
    are both above the means over S; None where there was no lexicon. lexicon: the SHA-256 (hex) of its file."""

    over: Data
    k1: int
    words: tuple[str, ...]
    high: tuple[str, ...] | None = None
    mean_idf: float
    mean_intensity: float | None = None
    lexicon: str | None = None


class Card(Record):
    """`sem.json`. words: of the IDF table, in order. embedder: its identity, None where probabilities are by tf-idf.
    figures: on the validation split. weights: SHA-256 (hex) of `weights.npz`. digest: of all the rest here."""

    format: Literal[3] = 3  # earlier ones know dialogues by their ids, which splits do not share
    labels: tuple[str, ...]
    words: tuple[str, ...]
    embedder: str | None = None
    causes: Causes
    trained_on: Data
    validated_on: Data
    figures: Mapping[str, Score]
    weights: str = ""
    digest: str = ""

    @property
    def own_digest(self) -> str:
        """SHA-256 (hex) of all fields of the card but its digest."""
        fields = json.dumps(self.model_dump(mode="json", exclude={"digest"}), sort_keys=True)
        return hashlib.sha256(fields.encode()).hexdigest()


@dataclass(frozen=True)
class Artefact:
    """dense: what probabilities are by where the card names an embedder. dialogues: digests of the names of the
    conversations that the models were fitted to or validated on."""

    card: Card
    model: Model
    dense: Dense | None
    dialogues: frozenset[int]

    @property
    def transductive(self) -> bool:
        """Whether S, its means and IDF are over other histories than the models were fitted to."""
        return self.card.causes.over.split != self.card.trained_on.split

    def cause_words(self, history: Sequence[str]) -> tuple[list[str], list[str]]:
        """The words of a history that are in S, high ones and low ones, each once, as they come."""
        causes = self.card.causes
        in_s, high = set(causes.words), set(causes.high or ())
        words = dict.fromkeys(word for text in history for word in words_of(text) if word in in_s)
        return [word for word in words if word in high], [word for word in words if word not in high]

    def knows(self, conversation: str) -> bool:
        """Whether the conversation was there when the model was made."""
        return id_digest(conversation) in self.dialogues


def causes_of(model: Model, histories: Sequence[Sequence[str]], over: Data, k1: int, lexicon: Lexicon | None) -> Causes:
    """S over the histories, which are `over`, which of it is high, and the means; the IDF is over them, too. What
    equals a mean is not above it, whatever the sum was rounded to."""
    top = {word for history in histories for _, word, weight in model.salience(history)[:k1] if weight}
    words, counts = tuple(sorted(top)), document_counts(histories)
    table = {word: idf(len(histories), counts[word]) for word in words}
    mean_idf = fsum(table.values()) / max(len(words), 1)
    if not lexicon:
        return Causes(over=over, k1=k1, words=words, mean_idf=mean_idf)
    mean = fsum(map(lexicon.of, words)) / max(len(words), 1)
    high = tuple(word for word in words if min(lexicon.of(word) - mean, table[word] - mean_idf) > ROUNDING)
    means = {"mean_idf": mean_idf, "mean_intensity": mean}
    return Causes(over=over, k1=k1, words=words, high=high, lexicon=lexicon.digest, **means)


def data_of(corpus: str, split: str, taken: Sequence[Labelled] | Sequence[Sequence[str]]) -> Data:
    """Describes samples, or histories alone."""
    lines = json.dumps([(one.history, one.label) if isinstance(one, Labelled) else one for one in taken])
    return Data(corpus=corpus, split=split, samples=len(taken), digest=hashlib.sha256(lines.encode()).hexdigest())


def id_digest(conversation: str) -> int:
    return int.from_bytes(hashlib.sha256(conversation.encode()).digest()[:8])


def prepare(folder: Path) -> None:
    """See that an artefact can be written at `folder`: before the work that would be lost, and again after it. Raises
    ConfigError where something is there already, RunError where nothing can be written beside it."""
    if os.path.lexists(folder):
        hint = "out=… a folder that is not there yet; nothing was changed"
        raise ConfigError("out is there already, and nothing is overwritten", where=str(folder), hint=hint)
    with writing(folder):
        private_folder(folder.parent)
        with tempfile.TemporaryDirectory(dir=folder.parent):
            pass


def write(
    folder: Path,
    card: Card,
    model: Model,
    dense: Dense | None,
    dialogues: frozenset[int],
    files: Mapping[str, str | bytes],
) -> Artefact:
    """The artefact at `folder`, there once it is whole. card: without its digests. files: for people, by name. Raises
    ConfigError where a model did not converge, RunError where it cannot be written."""
    arrays = {"idf": model.idf, "weights": model.weights, "bias": model.bias}
    if dense:
        arrays |= {"dense_weights": dense.weights, "dense_bias": dense.bias}
    prepare(folder)
    tables = io.BytesIO()
    np.savez(tables, allow_pickle=False, dialogues=np.array(sorted(dialogues), np.uint64), **arrays)
    card = card.model_copy(update={"weights": hashlib.sha256(tables.getbuffer()).hexdigest()})
    text = card.model_copy(update={"digest": card.own_digest}).model_dump_json(indent=1) + "\n"
    with writing(folder):
        parts = tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.", suffix=PART)
    with parts as part:
        whole = Path(part) / folder.name
        for name, content in {WEIGHTS: tables.getvalue(), **files, CARD: text}.items():
            write_whole(whole / name, content)
        made = read(whole)
        with writing(folder):
            whole.rename(folder)
    return made


def read(folder: Path) -> Artefact:
    """The artefact at `folder`. Raises ConfigError where there is none, and where it is not as it was written."""
    if not (folder / CARD).is_file():
        raise ConfigError("there is no small empathetic model", where=str(folder), hint=HINT)
    try:
        card = Card.model_validate_json((folder / CARD).read_bytes())
        if card.digest != card.own_digest or card.weights != sha256_of(folder / WEIGHTS):
            raise ValueError("it was changed after it was written")  # noqa: TRY301
        with np.load(folder / WEIGHTS, allow_pickle=False) as file:
            tables = dict(file)
        column = {word: number for number, word in enumerate(card.words)}
        model = Model(card.labels, column, tables["idf"], tables["weights"], tables["bias"])
        dense = Dense(card.labels, tables["dense_weights"], tables["dense_bias"]) if card.embedder else None
        labels, words = len(card.labels), len(card.words)
        if (model.weights.shape, model.idf.shape, model.bias.shape) != ((labels, words), (words,), (labels,)):
            raise ValueError("its tables have other sizes than its labels and words")  # noqa: TRY301
        if not all(np.isfinite(table).all() for table in tables.values()):
            raise ValueError("its tables hold what is no number")  # noqa: TRY301
        return Artefact(card, model, dense, frozenset(tables["dialogues"].tolist()))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        reason = why(error) if isinstance(error, OSError | ValueError) else str(error)
        hint = f"remove the folder and train again: {HINT}"
        raise ConfigError(f"this model cannot be used: {reason}", where=str(folder), hint=hint) from error
