"""MELD: multi-party dialogues of a TV series, a label a turn and a clip a turn (Poria et al., ACL 2019).

A line of `test_sent_emo.csv`, the file this reads, by the split's name:

    Sr No.,Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID,Season,Episode,StartTime,EndTime
    1,"Oh. That’s so...",Rachel,anger,negative,0,1,3,19,"00:14:40,629","00:14:47,385"

Order comes from Utterance_ID, which has gaps. Sentiment, season and episode are not used; no clip is opened.

    corpus = Meld("~/data/MELD.Raw", split="test").load()
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmerg.corpora.files import Row, holdings, is_file, read_table, root_folder
from mmerg.corpora.meld_clips import Key, list_clips
from mmerg.dialogue import Clip, Corpus, Dialogue, Turn
from mmerg.errors import ConfigError, CorpusError

MELD_LABELS = ("neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust")
SPLITS = ("train", "dev", "test")
COLUMNS = ("Utterance", "Speaker", "Emotion", "Dialogue_ID", "Utterance_ID", "StartTime", "EndTime")
CSV_FOLDERS = ("", "MELD.Raw", "data/MELD", "{split}", "MELD.Raw/{split}")
ROOT_HINT = "set dataset.root to the folder that holds the csv files or MELD.Raw (layouts: docs/datasets.md)"
TIME = re.compile(r"([0-9]{1,2}):([0-5][0-9]):([0-5][0-9])[,.]([0-9]{1,3})")
NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Meld:
    """One split of MELD. `root` is the folder with the csv files, MELD.Raw itself, or a folder that holds either.

    `clips=False` reads the words alone. Turn times are seconds on the episode's clock, a clip has no span of its own.
    """

    root: str | Path
    split: str = "test"
    labels: Sequence[str] = MELD_LABELS
    clips: bool = True

    def load(self) -> Corpus:
        """Read the split.

        `notes` counts rows left out (`rows_malformed`: misquoted or cut; `rows_incomplete`: no id, speaker or words),
        cells left out (`times_unreadable`, `spans_reversed`: an end not after its start), `labels_missing`,
        `clips_missing`, and repairs of the encoding. Raises ConfigError for an unknown split, CorpusError for a
        missing file or column, an unknown label, two rows for one turn, and a file without a usable row.
        """
        if self.split not in SPLITS:
            raise ConfigError(f"MELD has no split {self.split!r}", hint=f"dataset.split is one of {', '.join(SPLITS)}")
        root = root_folder(self.root, ROOT_HINT)
        path = _find_csv(root, self.split)
        table = read_table(path, COLUMNS)
        notes = Counter(table.notes)
        rows = _keyed(table.rows, path, notes)
        clips = list_clips(root, self.split) if self.clips else {}
        dialogues: dict[int, list[Turn]] = {}
        for key, row in sorted(rows.items()):
            clip = Clip(clips[key]) if key in clips else None
            notes["clips_missing"] += self.clips and clip is None
            dialogues.setdefault(key[0], []).append(self._turn(row, clip, path, notes))
        return Corpus(
            name="meld",
            split=self.split,
            labels=tuple(self.labels),
            dialogues=tuple(Dialogue(f"{self.split}_dia{n}", tuple(turns)) for n, turns in dialogues.items()),
            fingerprint=hashlib.sha256(table.data).hexdigest(),
            notes={name: count for name, count in sorted(notes.items()) if count},
        )

    def _turn(self, row: Row, clip: Clip | None, path: Path, notes: Counter[str]) -> Turn:
        emotion = row.cells["Emotion"]
        if emotion and emotion not in self.labels:
            raise CorpusError(
                f"unknown emotion {emotion!r}",
                where=f"{path}, line {row.line}",
                hint=f"the labels are {', '.join(self.labels)}; correct the line or set dataset.labels=[...]",
            )
        notes["labels_missing"] += not emotion
        start, end = (_seconds(row.cells[column], notes) for column in ("StartTime", "EndTime"))
        if start is not None and end is not None and end <= start:
            end = None
            notes["spans_reversed"] += 1
        words = row.cells["Utterance"].replace("\n", " ")
        return Turn(row.cells["Speaker"], words, emotion or None, clip, start, end)


def _keyed(rows: Sequence[Row], path: Path, notes: Counter[str]) -> dict[Key, Row]:
    """Rows by (Dialogue_ID, Utterance_ID); those without an id, a speaker or words are counted and left out."""
    keyed: dict[Key, Row] = {}
    for row in rows:
        ids = row.cells["Dialogue_ID"], row.cells["Utterance_ID"]
        if not (all(map(NUMBER.fullmatch, ids)) and row.cells["Speaker"] and row.cells["Utterance"]):
            notes["rows_incomplete"] += 1
            continue
        key = int(ids[0]), int(ids[1])
        if key in keyed:
            raise CorpusError(
                f"two rows for utterance {key[1]} of dialogue {key[0]}",
                where=f"{path}, lines {keyed[key].line} and {row.line}",
                hint="take the file as published, or delete the wrong row",
            )
        keyed[key] = row
    if not keyed:
        raise CorpusError(f"{path.name} holds no usable row", where=str(path), hint="take the file as published")
    return keyed


def _seconds(cell: str, notes: Counter[str]) -> float | None:
    """`H:MM:SS,mmm` in seconds. The digits after the comma are a decimal fraction, also where they are only two."""
    match = TIME.fullmatch(cell)
    if not match:
        notes["times_unreadable"] += 1
        return None
    hours, minutes, seconds, fraction = match.groups()
    return int(hours) * 3600 + int(minutes) * 60 + float(f"{seconds}.{fraction}")


def _find_csv(root: Path, split: str) -> Path:
    name = f"{split}_sent_emo.csv"
    folders = [root / folder.format(split=split) for folder in CSV_FOLDERS]
    for folder in folders:
        if is_file(folder / name):
            return folder / name
    where = f"looked in {', '.join(map(str, folders))}; {holdings(root)}"
    raise CorpusError(f"no {name} for MELD's {split} split", where=where, hint=ROOT_HINT)
