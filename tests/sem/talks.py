"""Talks whose emotion shows in planted words, in EmpatheticDialogues' layout."""

from __future__ import annotations

import random
from pathlib import Path

from mmerg.sem.fit import Labelled
from tests.corpora.empathetic_builder import Builder, Line

FILLER = ["and", "then", "I", "told", "them", "in", "the", "end", "what", "it", "had", "been", "for", "me", "really"]


def planted(labels: list[str], each: int, seed: int = 0, sure: float = 1.0) -> list[Labelled]:
    """So many histories a label; its word `<label>word` stands in a share `sure` of them."""
    draw = random.Random(seed)
    found = []
    for number in range(each):
        for label in labels:
            words = draw.choices(FILLER, k=8)
            if draw.random() < sure:
                words.insert(draw.randrange(8), f"{label}word")
            found.append(Labelled((f"Talk {number} " + " ".join(words), "Oh, go on."), label))
    return found


def write_talks(root: Path, labels: list[str], each: int = 6) -> Path:
    """train.csv, valid.csv and test.csv; talks of two turns."""
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
