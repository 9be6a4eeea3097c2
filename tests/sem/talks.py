"""Talks whose emotion shows in planted words, in EmpatheticDialogues' layout, and models trained on them."""

import json
import os
import random
import signal
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from mmerg.memory.vectors import Vectors, scale_to_unit
from mmerg.storage.words import split_words
from tests.corpora.empathetic_builder import Builder, Line
from tests.processes import run_main

EKMAN = ["anger", "disgust", "fear", "happiness", "sadness", "surprise"]
MOODS = {
    "anger": "angry",
    "disgust": "disgusted",
    "fear": "afraid",
    "happiness": "joyful",
    "sadness": "sad",
    "surprise": "surprised",
}
VAD = "".join(f"{mood}word\t{0.0 if mood == 'angry' else 0.5}\t0.9\t0.5\n" for mood in MOODS.values())
DIMENSIONS = 64
FILLER = ["and", "then", "I", "told", "them", "in", "the", "end", "what", "it", "had", "been", "for", "me", "really"]


class Labelled(NamedTuple):
    history: tuple[str, ...]  # the texts of the turns before the reply
    label: str


def planted(labels: list[str], each: int, seed: int = 0, sure: float = 1.0) -> list[Labelled]:
    """Makes `each` histories per label; its word `<label>word` is in a share `sure` of them."""
    draw = random.Random(seed)
    samples = []
    for number in range(each):
        for label in labels:
            words = draw.choices(FILLER, k=8)
            if draw.random() < sure:
                words.insert(draw.randrange(8), f"{label}word")
            samples.append(Labelled((f"Talk {number} " + " ".join(words), "Oh, go on."), label))
    return samples


def write_talks(root: Path, labels: list[str], each: int = 6) -> Path:
    """Writes train.csv, valid.csv and test.csv, with talks of two turns."""
    for offset, split in enumerate(("train", "valid", "test")):
        lines = []
        for number, sample in enumerate(planted(labels, each, seed=offset)):
            name = f"hit:{offset}{number}_conv:{offset}{number}"
            lines += [
                Line(name, 1, sample.history[0], sample.label, "A situation."),
                Line(name, 2, "Oh.", sample.label),
            ]
        Builder(split, lines).write(root)
    return root


def train(talks: Path, out: Path, *settings: str) -> int:
    """Runs `mmerg train` on talks of Ekman's six."""
    line = ["dataset=empathetic", f"dataset.root={talks}", "dataset.label_set=ekman", f"out={out}", *settings]
    return run_main("mmerg.train", *line)


class Hashed:
    """An embedder that adds a vector per word. salt: makes it another embedder, below 0 a broken one. kill_at: the call
    in which it kills its own process."""

    def __init__(self, salt: int = 0, kill_at: int | None = None, **_: object) -> None:
        self._salt, self._left = salt, kill_at

    def identity(self) -> str:
        return json.dumps({"salt": self._salt})

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self._left is not None:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)
        if self._salt < 0:
            return np.zeros((len(texts), DIMENSIONS), np.float32)
        vectors_of_texts = (map(_embed_word, [self._salt] * len(words), words) for words in map(split_words, texts))
        return scale_to_unit([np.sum(list(vectors), axis=0) for vectors in vectors_of_texts])


@cache
def _embed_word(salt: int, word: str) -> Vectors:
    return np.random.default_rng([salt, crc32(word.encode())]).normal(size=DIMENSIONS).astype(np.float32)


HASHED = ("features=minilm", "features.embedder._target_=tests.sem.talks.Hashed")
