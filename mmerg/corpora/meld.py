"""MELD: dialogues of a TV series, with a label and a clip (`dia0_utt1.mp4`) per turn (Poria et al., ACL 2019).

    Sr No.,Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID,Season,Episode,StartTime,EndTime
    1,"Oh. That’s so...",Rachel,anger,negative,0,1,3,19,"00:14:40,629","00:14:47,385"

Turns are in order of Utterance_ID, which has gaps.

    corpus = Meld("~/data/MELD.Raw", split="test").load()
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal

from pydantic.dataclasses import dataclass as checked_dataclass

from mmerg.corpora import files
from mmerg.corpora.dialogue import Clip, Corpus, Dialogue, Turn
from mmerg.corpora.published import refuse_mixed_up
from mmerg.errors import CorpusError

Split = Literal["train", "dev", "test"]
MELD_LABELS = ("neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust")
Cells = Mapping[str, str]  # the cells of a row by column
Key = tuple[int, int]  # Dialogue_ID and Utterance_ID
RAW = "MELD.Raw"
CLIP_FOLDERS = {"train": "train_splits", "dev": "dev_splits_complete", "test": "output_repeated_splits_test"}
COLUMNS = ("Utterance", "Speaker", "Emotion", "Dialogue_ID", "Utterance_ID", "StartTime", "EndTime")
TIME = re.compile(r"([0-9]{1,2}):([0-5][0-9]):([0-5][0-9])[,.]([0-9]{1,3})")
NUMBER = re.compile(r"[0-9]{1,9}")
ROOT_HINT = "set dataset.root to the folder that holds the csv files or MELD.Raw (layouts: docs/datasets.md)"


@checked_dataclass(frozen=True)
class Meld:
    """The reader of a split of MELD. Times are seconds on the clock of the episode, `Dialogue.episode` (`s03e19`).

    Attributes:
        root: the folder with the csv files, MELD.Raw itself, or a folder that contains either.
        labels: the emotions that turns may have; None for MELD's seven.
        clips: whether to find the clips; if not, only the texts are read.
    """

    root: str | Path
    split: Split = "test"
    labels: Sequence[str] | None = None
    clips: bool = True

    def load(self) -> Corpus:
        """Reads the split. A dialogue has an id such as `test_dia3`, and its conversation is `meld/test/dia3`. Raises
        CorpusError if files are missing or cannot be used."""
        root = files.root_folder(self.root, ROOT_HINT)
        name = f"{self.split}_sent_emo.csv"
        places = [root / folder / name for folder in ("", RAW, "data/MELD", self.split, f"{RAW}/{self.split}")]
        path = files.find(places, f"no {name} for MELD's {self.split} split", ROOT_HINT)
        data = files.read_bytes(path)
        notes = Counter[str]()
        rows = _read_rows(path, data, notes)
        inner = CLIP_FOLDERS[self.split]
        folders = [base / name for name in (f"{self.split}/{inner}", inner, self.split) for base in (root / RAW, root)]
        clips = files.Clips(folders, notes, look=self.clips)
        dialogues = tuple(
            self._build_dialogue(number, [rows[key] for key in keys], clips, notes)
            for number, keys in groupby(sorted(rows), key=lambda key: key[0])
        )
        archives = [root / folder / f"{name}.tar.gz" for name in (self.split, RAW) for folder in ("", RAW)]
        if len(clips.absent) == len(rows) and (packed := next(filter(files.is_file, archives), None)):
            hint = f"unpack {packed}, or set dataset.reader.clips=false to read the texts only"
            raise CorpusError(f"no clip of MELD's {self.split} split is unpacked", where=str(root), hint=hint)
        digest, labels = hashlib.sha256(data).hexdigest(), tuple(self.labels or MELD_LABELS)
        corpus = Corpus("meld", self.split, labels, dialogues, digest, files.nonzero(notes), clips.absent)
        refuse_mixed_up(corpus, path)
        return corpus

    def _build_dialogue(self, number: int, rows: Sequence[Cells], clips: files.Clips, notes: Counter[str]) -> Dialogue:
        name = f"{self.split}_dia{number}"
        turns: list[Turn] = []
        for turn, cells in enumerate(rows, start=1):
            clip = clips.find(f"{name}/{turn}", f"dia{number}_utt{int(cells['Utterance_ID'])}.mp4")
            turns.append(_build_turn(cells, clip, notes))
        numbers = (_read_numbers(cells, "Season", "Episode") for cells in rows)
        episodes = {pair for pair in numbers if pair}
        notes["episodes_differing"] += len(episodes) > 1
        episode = "s{:02}e{:02}".format(*episodes.pop()) if len(episodes) == 1 else None
        return Dialogue(name, tuple(turns), episode=episode, conversation=f"meld/{self.split}/dia{number}")


def _read_rows(path: Path, data: bytes, notes: Counter[str]) -> dict[Key, Cells]:
    """Reads the rows by id. Rows without ids, a speaker or a text, and repeated rows are skipped and counted."""
    rows: dict[Key, Cells] = {}
    for cells in files.read_table(data, path, COLUMNS, notes):
        key = _read_numbers(cells, "Dialogue_ID", "Utterance_ID")
        if key is None or not (cells["Speaker"] and cells["Utterance"]):
            notes["rows_incomplete"] += 1
        else:
            notes["rows_repeated"] += key in rows
            rows.setdefault(key, cells)
    return rows


def _build_turn(cells: Cells, clip: Path | None, notes: Counter[str]) -> Turn:
    start, end = (_parse_seconds(cells[column], notes) for column in ("StartTime", "EndTime"))
    if start is not None and end is not None and end <= start:
        end = None
        notes["spans_reversed"] += 1
    emotion = cells["Emotion"] or None
    notes["labels_missing"] += not emotion
    text = cells["Utterance"].replace("\n", " ")
    return Turn(cells["Speaker"], text, emotion, Clip(clip) if clip else None, start, end)


def _parse_seconds(cell: str, notes: Counter[str]) -> float | None:
    """Reads `H:MM:SS,mmm` as seconds. The digits after the comma are a decimal fraction, even if they are only two."""
    if match := TIME.fullmatch(cell):
        hours, minutes, seconds, fraction = match.groups()
        return int(hours) * 3600 + int(minutes) * 60 + float(f"{seconds}.{fraction}")
    notes["times_unreadable"] += 1
    return None


def _read_numbers(cells: Cells, *columns: str) -> Key | None:
    """Returns the numbers in two columns, or None if a column or a number is missing."""
    first, second = (cells.get(column, "") for column in columns)
    return (int(first), int(second)) if NUMBER.fullmatch(first) and NUMBER.fullmatch(second) else None
