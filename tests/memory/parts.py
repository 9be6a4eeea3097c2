"""Parts that memory tests share: an embedder that counts letters, dialogues in a line each, a watch that remembers."""

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.memory.vectors import Vectors, scale_to_unit
from mmerg.settings.sources import MemorySettings


class Letters:
    """The counts of the letters a to z, and one place for all else: exact, quick, the same everywhere."""

    def __init__(self, name: str = "letters", **_: object) -> None:
        self.name = name
        self.asked: list[str] = []

    def identity(self) -> str:
        return self.name

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return scale_to_unit([self._counts(text) for text in texts])

    def _counts(self, text: str) -> list[float]:
        low = text.lower()
        known = [float(low.count(letter)) for letter in string.ascii_lowercase]
        return [*known, float(bool(text)) * 0.5]


def quick(*memories: str) -> list[str]:
    """Settings that give the memories at these keys `Letters` for an embedder, which needs no package and no time."""
    return [f"{memory}.embedder._target_={__name__}.Letters" for memory in memories]


class Broken(Letters):
    """Gives no numbers for a text that says so."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = super().embed(texts)
        for row, text in enumerate(texts):
            if "nan" in text:
                vectors[row] = np.nan
        return vectors


class Watching:
    """Remembers what a build tells."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.steps: list[tuple[int, int]] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def report(self, done: int, total: int) -> None:
        self.steps.append((done, total))


def wanted(**settings: Any) -> MemorySettings:
    """What is asked of a memory."""
    return MemorySettings(name="memory", **settings)


def dialogue(name: str, *turns: str, **more: str | tuple[str, ...]) -> Dialogue:
    """Turns as "speaker: text" or "speaker [emotion]: text"."""
    made = []
    for turn in turns:
        who, _, text = turn.partition(": ")
        speaker, _, label = who.partition(" [")
        made.append(Turn(speaker, text, label.removesuffix("]") or None))
    return Dialogue(name, tuple(made), **more)  # type: ignore[arg-type]


def corpus(*dialogues: Dialogue, name: str = "mine", split: str = "train", fingerprint: str = "f") -> Corpus:
    return Corpus(name, split, ("joy", "sadness", "anger"), dialogues, fingerprint)
