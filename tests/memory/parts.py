"""Parts of memory tests: an embedder that counts letters, and dialogues from strings."""

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.memory.vectors import Vectors, scale_to_unit
from mmerg.settings.sources import MemorySettings


class Letters:
    """An embedder that counts the letters a to z, with one more dimension: exact, quick, and always the same."""

    def __init__(self, name: str = "letters", **_: object) -> None:
        self.name = name
        self.embedded: list[str] = []

    def identity(self) -> str:
        return self.name

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return scale_to_unit([self._counts(text) for text in texts])

    def _counts(self, text: str) -> list[float]:
        low = text.lower()
        counts = [float(low.count(letter)) for letter in string.ascii_lowercase]
        return [*counts, float(bool(text)) * 0.5]


def quick(*memories: str) -> list[str]:
    """Returns settings that make `Letters`, which needs no package, the embedder of the memories at these keys."""
    return [f"{memory}.embedder._target_={__name__}.Letters" for memory in memories]


class Broken(Letters):
    """An embedder that returns NaN for a text that contains "nan"."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = super().embed(texts)
        for row, text in enumerate(texts):
            if "nan" in text:
                vectors[row] = np.nan
        return vectors


def ignore_progress(done: int, total: int) -> None:
    """Shows no progress of a build."""


def wanted(**settings: Any) -> MemorySettings:
    return MemorySettings(name="memory", **settings)


def dialogue(name: str, *turns: str, **more: str | tuple[str, ...]) -> Dialogue:
    """Makes a dialogue of turns such as "speaker: text" or "speaker [emotion]: text"."""
    built = []
    for turn in turns:
        speaker_and_emotion, _, text = turn.partition(": ")
        speaker, _, label = speaker_and_emotion.partition(" [")
        built.append(Turn(speaker, text, label.removesuffix("]") or None))
    return Dialogue(name, tuple(built), **more)  # type: ignore[arg-type]


def corpus(*dialogues: Dialogue, name: str = "mine", split: str = "train", fingerprint: str = "f") -> Corpus:
    return Corpus(name, split, ("joy", "sadness", "anger"), dialogues, fingerprint)
