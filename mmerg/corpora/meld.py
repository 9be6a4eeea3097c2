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
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from mmerg.corpora import files
from mmerg.corpora.dialogue import Clip, Corpus, Dialogue, Turn
from mmerg.corpora.published import refuse_mixed_up
from mmerg.errors import CorpusError

MELD_LABELS = ("neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust")
Cells = Mapping[str, str]  # the cells of a row by column
Row = tuple[str, Cells]  # the place of a row (its file and line), and its cells
Key = tuple[int, int]  # Dialogue_ID and Utterance_ID
RAW = "MELD.Raw"
CLIP_FOLDERS = {"train": "train_splits", "dev": "dev_splits_complete", "test": "output_repeated_splits_test"}
COLUMNS = ("Utterance", "Speaker", "Emotion", "Dialogue_ID", "Utterance_ID", "StartTime", "EndTime")
TIME = re.compile(r"([0-9]{1,2}):([0-5][0-9]):([0-5][0-9])[,.]([0-9]{1,3})")
NUMBER = re.compile(r"[0-9]{1,9}")
ROOT_HINT = "set dataset.root to the folder that holds the csv files or MELD.Raw (layouts: docs/datasets.md)"


@dataclass(frozen=True)
class Meld:
    """The reader of a split of MELD. Times are seconds on the clock of the episode, `Dialogue.episode` (`s03e19`).

    Attributes:
        root: the folder with the csv files, MELD.Raw itself, or a folder that contains either.
        labels: the emotions that turns may have; None for MELD's seven.
        clips: whether to find the clips; if not, only the texts are read.
    """

    root: str | Path
    split: str = "test"
    labels: Sequence[str] | None = None
    clips: bool = True

    def load(self) -> Corpus:
        """Reads the split. A dialogue has an id such as `test_dia3`, and its conversation is `meld/test/dia3`. Raises
        ConfigError for an unknown split, and CorpusError if files are missing or cannot be used."""
        files.require_choice(CLIP_FOLDERS, "dataset.split", self.split)
        root = files.root_folder(self.root, ROOT_HINT)
        places = {
            split: [
                root / folder / f"{split}_sent_emo.csv" for folder in ("", RAW, "data/MELD", split, f"{RAW}/{split}")
            ]
            for split in CLIP_FOLDERS
        }
        what = f"no {self.split}_sent_emo.csv for MELD's {self.split} split"
        path = files.find(places[self.split], what, ROOT_HINT)
        data = files.read_bytes(path)
        notes = Counter[str]()
        rows = self._read_rows(path, data, notes)
        inner = CLIP_FOLDERS[self.split]
        folders = [base / name for name in (f"{self.split}/{inner}", inner, self.split) for base in (root / RAW, root)]
        clips = files.Clips(folders, notes, look=self.clips)
        dialogues = tuple(
            self._build_dialogue(number, [rows[key] for key in keys], clips, notes)
            for number, keys in groupby(sorted(rows), key=lambda key: key[0])
        )
        archives = [root / folder / f"{name}.tar.gz" for name in (self.split, RAW) for folder in ("", RAW)]
        if len(clips.absent) == len(rows) and (packed := files.first_file(archives)):
            hint = f"unpack {packed}, or set dataset.reader.clips=false to read the texts only"
            raise CorpusError(f"no clip of MELD's {self.split} split is unpacked", where=str(root), hint=hint)
        digest = hashlib.sha256(data).hexdigest()
        corpus = Corpus("meld", self.split, tuple(self._labels), dialogues, digest, files.nonzero(notes), clips.absent)
        refuse_mixed_up(corpus, path, data, places)
        return corpus

    @property
    def _labels(self) -> Sequence[str]:
        return MELD_LABELS if self.labels is None else self.labels

    def _read_rows(self, path: Path, data: bytes, notes: Counter[str]) -> dict[Key, Row]:
        """Reads the rows by id. Rows without ids, a speaker or a text are skipped and counted. Raises CorpusError if an
        id is repeated, or if there are no rows."""
        rows: dict[Key, Row] = {}
        for line, cells in files.read_table(data, path, COLUMNS, notes):
            where, key = f"{path}, line {line}", _read_numbers(cells, "Dialogue_ID", "Utterance_ID")
            if key is None or not (cells["Speaker"] and cells["Utterance"]):
                notes["rows_incomplete"] += 1
            elif key in rows:
                what = f"two rows for utterance {key[1]} of dialogue {key[0]}"
                hint = f"{files.AS_PUBLISHED}, or delete the wrong row"
                raise CorpusError(what, where=f"{rows[key][0]}, and line {line}", hint=hint)
            else:
                rows[key] = where, cells
        if not rows:
            raise CorpusError(f"{path.name} holds no usable row", where=str(path), hint=files.AS_PUBLISHED)
        return rows

    def _build_dialogue(self, number: int, rows: Sequence[Row], clips: files.Clips, notes: Counter[str]) -> Dialogue:
        name = f"{self.split}_dia{number}"
        turns: list[Turn] = []
        for turn, (where, cells) in enumerate(rows, start=1):
            clip = clips.find(f"{name}/{turn}", f"dia{number}_utt{int(cells['Utterance_ID'])}.mp4")
            turns.append(self._build_turn(where, cells, clip, notes))
        numbers = (_read_numbers(cells, "Season", "Episode") for _, cells in rows)
        episodes = {pair for pair in numbers if pair}
        notes["episodes_differing"] += len(episodes) > 1
        episode = "s{:02}e{:02}".format(*episodes.pop()) if len(episodes) == 1 else None
        return Dialogue(name, tuple(turns), episode=episode, conversation=f"meld/{self.split}/dia{number}")

    def _build_turn(self, where: str, cells: Cells, clip: Path | None, notes: Counter[str]) -> Turn:
        emotion = cells["Emotion"] or None
        if emotion and emotion not in self._labels:
            hint = f"the labels are {', '.join(self._labels)}; correct the line or set dataset.labels=[...]"
            raise CorpusError(f"unknown emotion {emotion!r}", where=where, hint=hint)
        notes["labels_missing"] += not emotion
        start, end = (_parse_seconds(cells[column], notes) for column in ("StartTime", "EndTime"))
        if start is not None and end is not None and end <= start:
            end = None
            notes["spans_reversed"] += 1
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
