"""Talks whose emotion shows in planted words, in EmpatheticDialogues' layout, and models trained on them."""

import random
from pathlib import Path
from typing import NamedTuple

from mmerg.corpora.empathetic import Split
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
    splits: tuple[Split, ...] = ("train", "valid", "test")
    for offset, split in enumerate(splits):
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
