"""The corpus NAME in dialogues.csv, which has one turn per line."""

import csv
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.errors import CorpusError
from mmerg.storage.files import compute_sha256


@dataclass(frozen=True)
class Reader:
    root: str  # the folder that contains dialogues.csv

    def load(self) -> Corpus:
        file = Path(self.root) / "dialogues.csv"
        if not file.is_file():
            raise CorpusError("there is no such file", where=str(file), hint="set dataset.root to its folder")
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
        dialogues = [
            Dialogue(name, tuple(Turn(row["speaker"], row["text"], row["emotion"] or None) for row in turns))
            for name, turns in groupby(rows, key=lambda row: row["dialogue"])
        ]  # a turn with a video also has clip=mmerg.corpora.dialogue.Clip(path)
        return Corpus("NAME", "all", ("neutral", "joy", "sadness"), tuple(dialogues), fingerprint=compute_sha256(file))
