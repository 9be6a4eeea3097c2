"""A trained model as a folder, `sem.json`, `weights.npz` and a page: written whole or not at all, and read only as
written.

artefact = read(Path("sem"))
artefact.cause_words(["I lost my job."])    # (["lost"], ["job"])
"""

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from mmerg.errors import ConfigError
from mmerg.scoring.score import Score
from mmerg.sem.fit import Labelled, idf, seen_in
from mmerg.sem.lexicon import Lexicon
from mmerg.sem.model import Dense, Model, words_of
from mmerg.storage.files import PART, private_folder, sha256_of, why, write_whole, writing

CARD, WEIGHTS = "sem.json", "weights.npz"
ROUNDING = 1e-9
HINT = "mmerg train sem dataset=… dataset.root=… out=DIR makes one"
Words = Annotated[tuple[str, ...], Field(strict=False)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Data(_Record):
    """A part of a corpus. digest: SHA-256 (hex) of what was taken of it: histories, with labels where these count."""

    corpus: str
    split: str
    samples: int
    digest: Sha256


class Causes(_Record):
    """The set S: of every history in `over` the k1 words of highest salience. high: those of S whose intensity and IDF
    are both above the means over S; None where there was no lexicon. lexicon: the SHA-256 (hex) of its file."""

    over: Data
    k1: Annotated[int, Field(ge=1)]
    words: Words
    high: Words | None = None
    mean_idf: FiniteFloat
    mean_intensity: FiniteFloat | None = None
    lexicon: Sha256 | None = None


class Card(_Record):
    """`sem.json`. words: of the IDF table, in order. embedder: its identity, None where probabilities are by tf-idf.
    figures: on the validation split. weights: SHA-256 (hex) of `weights.npz`. digest: of all the rest here."""

    format: Literal[3] = 3  # earlier ones know dialogues by their ids, which splits do not share
    labels: Annotated[tuple[str, ...], Field(strict=False, min_length=2)]
    words: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    embedder: str | None = None
    causes: Causes
    trained_on: Data
    validated_on: Data
    figures: Mapping[str, Score]
    weights: Sha256
    digest: str = ""

    @property
    def own_digest(self) -> str:
        """SHA-256 (hex) of what the card says."""
        said = json.dumps(self.model_dump(mode="json", exclude={"digest"}), sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()


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
        in_s, all_high = self._causes
        said = dict.fromkeys(word for text in history for word in words_of(text) if word in in_s)
        return [word for word in said if word in all_high], [word for word in said if word not in all_high]

    def knows(self, conversation: str) -> bool:
        """Whether the conversation was there when the model was made."""
        return id_digest(conversation) in self.dialogues

    @cached_property
    def _causes(self) -> tuple[frozenset[str], frozenset[str]]:
        return frozenset(self.card.causes.words), frozenset(self.card.causes.high or ())


def causes_of(model: Model, histories: Sequence[Sequence[str]], over: Data, k1: int, lexicon: Lexicon | None) -> Causes:
    """S over the histories, which are `over`, which of it is high, and the means; the IDF is over them, too. What
    equals a mean is not above it, whatever the sum was rounded to."""
    top = {word for history in histories for _, word, weight in model.salience(history)[:k1] if weight}
    words, seen = tuple(sorted(top)), seen_in(histories)
    table = {word: idf(len(histories), seen[word]) for word in words}
    mean_idf = fsum(table.values()) / max(len(words), 1)
    if not lexicon:
        return Causes(over=over, k1=k1, words=words, mean_idf=mean_idf)
    mean = fsum(map(lexicon.of, words)) / max(len(words), 1)
    high = tuple(word for word in words if min(lexicon.of(word) - mean, table[word] - mean_idf) > ROUNDING)
    means = {"mean_idf": mean_idf, "mean_intensity": mean}
    return Causes(over=over, k1=k1, words=words, high=high, lexicon=lexicon.digest, **means)


def data_of(corpus: str, split: str, taken: Sequence[Labelled] | Sequence[Sequence[str]]) -> Data:
    """What stands for samples, or for histories alone."""
    lines = json.dumps([(one.history, one.label) if isinstance(one, Labelled) else one for one in taken])
    return Data(corpus=corpus, split=split, samples=len(taken), digest=hashlib.sha256(lines.encode()).hexdigest())


def id_digest(conversation: str) -> int:
    return int.from_bytes(hashlib.sha256(conversation.encode(errors="surrogateescape")).digest()[:8])


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
    model: Model,
    dense: Dense | None,
    dialogues: frozenset[int],
    said: Mapping[str, Any],
    files: Mapping[str, str | bytes],
) -> Artefact:
    """The artefact at `folder`, there once it is whole. said: the fields of `Card` beside those of the model. files:
    for people, by name. Raises RunError where it cannot be written."""
    prepare(folder)
    with writing(folder):
        part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=PART))
    try:
        with writing(part):
            arrays: dict[str, Any] = {"idf": model.idf, "weights": model.weights, "bias": model.bias}
            if dense:
                arrays |= {"dense_weights": dense.weights, "dense_bias": dense.bias}
            np.savez(part / WEIGHTS, dialogues=np.array(sorted(dialogues), np.uint64), **arrays)
            (part / WEIGHTS).chmod(0o600)
            digest = sha256_of(part / WEIGHTS)
        card = Card(labels=model.labels, words=tuple(model.column), weights=digest, **said)
        card = card.model_copy(update={"digest": card.own_digest})
        for name, content in {**files, CARD: card.model_dump_json(indent=1) + "\n"}.items():
            write_whole(part / name, content)
        with writing(folder):
            part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return read(folder)


def read(folder: Path) -> Artefact:
    """The artefact at `folder`. Raises ConfigError where there is none, and where it is not as it was written."""
    if not (folder / CARD).is_file():
        raise ConfigError("there is no small empathetic model", where=str(folder), hint=HINT)
    try:
        return _read(folder)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        reason = why(error) if isinstance(error, OSError | ValueError) else str(error)
        hint = f"remove the folder and train again: {HINT}"
        raise ConfigError(f"this model cannot be used: {reason}", where=str(folder), hint=hint) from error


def _read(folder: Path) -> Artefact:
    card = Card.model_validate_json((folder / CARD).read_bytes())
    if card.digest != card.own_digest or card.weights != sha256_of(folder / WEIGHTS):
        raise ValueError("it was changed after it was written")
    column = {word: number for number, word in enumerate(card.words)}
    with np.load(folder / WEIGHTS, allow_pickle=False) as arrays:
        model = Model(card.labels, column, arrays["idf"], arrays["weights"], arrays["bias"])
        dense = Dense(card.labels, arrays["dense_weights"], arrays["dense_bias"]) if card.embedder else None
        dialogues = frozenset(arrays["dialogues"].tolist())
    labels, words = len(card.labels), len(card.words)
    tables = [(model.weights, (labels, words)), (model.idf, (words,)), (model.bias, (labels,))]
    if dense:
        tables += [(dense.weights, (labels, *dense.weights.shape[1:2])), (dense.bias, (labels,))]
    if any(table.shape != shape for table, shape in tables):
        raise ValueError("its tables have other sizes than its labels and words")
    if not all(np.isfinite(table).all() for table, _ in tables):
        raise ValueError("its tables hold what is no number")
    if not set(card.causes.high or ()) <= set(card.causes.words) <= set(card.words):
        raise ValueError("its cause words are none of its words")
    return Artefact(card, model, dense, dialogues)
