"""MELD: multi-party dialogues of a TV series, a label and a clip (`dia0_utt1.mp4`) a turn (Poria et al., ACL 2019).

    Sr No.,Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID,Season,Episode,StartTime,EndTime
    1,"Oh. That’s so...",Rachel,anger,negative,0,1,3,19,"00:14:40,629","00:14:47,385"

Turns are in order of Utterance_ID, which has gaps. The dyadic variant cuts each dialogue into talks of two, which share
turns; Old_Dialogue_ID and Old_Utterance_ID are a turn's ids in the whole dialogue, and name its clip.

    corpus = Meld("~/data/MELD.Raw", split="test").load()
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from mmerg.corpora import files
from mmerg.corpora.dialogue import Clip, Corpus, Dialogue, Turn
from mmerg.corpora.published import refuse_mixed_up
from mmerg.errors import CorpusError

MELD_LABELS = ("neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust")
Cells = Mapping[str, str]  # of a row, by column
Row = tuple[str, Cells]  # its file and line, and its cells
Key = tuple[int, int]
RAW = "MELD.Raw"
CLIP_FOLDERS = {"train": "train_splits", "dev": "dev_splits_complete", "test": "output_repeated_splits_test"}
FILES = {  # names, and folders beside those of every variant
    "multi": ("{}_sent_emo.csv", ("data/MELD",)),
    "dyadic": ("{}_sent_emo_dya.csv", ("data/MELD_Dyadic", "MELD_Dyadic")),
}
IDS, OLD_IDS = ("Dialogue_ID", "Utterance_ID"), ("Old_Dialogue_ID", "Old_Utterance_ID")
COLUMNS = ("Utterance", "Speaker", "Emotion", *IDS, "StartTime", "EndTime")
TIME = re.compile(r"([0-9]{1,2}):([0-5][0-9]):([0-5][0-9])[,.]([0-9]{1,3})")
NUMBER = re.compile(r"[0-9]{1,9}")
ROOT_HINT = "set dataset.root to the folder that holds the csv files or MELD.Raw (layouts: docs/datasets.md)"


@dataclass(frozen=True)
class Meld:
    """One split. `root` is the folder with the csv files, MELD.Raw itself, or a folder that holds either. labels: None
    for MELD's seven. `clips=False` reads the words alone. Turn times are seconds on the clock of the episode, which
    `Dialogue.episode` names (`s03e19`)."""

    root: str | Path
    split: str = "test"
    labels: Sequence[str] | None = None
    clips: bool = True
    variant: Literal["multi", "dyadic"] = "multi"

    def load(self) -> Corpus:
        """The split. Dialogues are called `test_dia3`, dyads `test_dyad3`; the conversation of both is that of the
        dialogue (`meld/test/dia3`). Raises ConfigError for an unknown split or variant, CorpusError for unusable
        files."""
        files.require_choice(CLIP_FOLDERS, "dataset.split", self.split)
        files.require_choice(FILES, "dataset.variant", self.variant)
        root = files.root_folder(self.root, ROOT_HINT)
        csv, beside = FILES[self.variant]
        places = {
            split: [root / folder / csv.format(split) for folder in ("", RAW, *beside, split, f"{RAW}/{split}")]
            for split in CLIP_FOLDERS
        }
        what = f"no {csv.format(self.split)} for MELD's {self.split} split"
        also = "; put its folder MELD_Dyadic beside MELD's; or dataset.variant=multi" if self._dyadic else ""
        path = files.find(places[self.split], what, ROOT_HINT + also)
        data = files.read_bytes(path)
        notes = Counter[str]()
        rows = self._rows(path, data, notes)
        inner = CLIP_FOLDERS[self.split]
        folders = (f"{self.split}/{inner}", inner, self.split)
        places_of_clips = [base / folder for folder in folders for base in (root / RAW, root)]
        clips = files.Clips(places_of_clips, notes, look=self.clips)
        dialogues = tuple(
            self._dialogue(number, [rows[key] for key in keys], clips, notes)
            for number, keys in groupby(sorted(rows), key=lambda key: key[0])
        )
        archives = [root / folder / f"{name}.tar.gz" for name in (self.split, RAW) for folder in ("", RAW)]
        if len(clips.absent) == len(rows) and (packed := files.first_file(archives)):
            hint = f"unpack {packed}, or read only words: dataset.reader.clips=false"
            raise CorpusError(f"no clip of MELD's {self.split} split is unpacked", where=str(root), hint=hint)
        name, digest = "meld-dyadic" if self._dyadic else "meld", hashlib.sha256(data).hexdigest()
        corpus = Corpus(name, self.split, tuple(self._labels), dialogues, digest, files.nonzero(notes), clips.absent)
        refuse_mixed_up(corpus, path, data, places)
        return corpus

    @property
    def _dyadic(self) -> bool:
        return self.variant == "dyadic"

    @property
    def _labels(self) -> Sequence[str]:
        return MELD_LABELS if self.labels is None else self.labels

    def _rows(self, path: Path, data: bytes, notes: Counter[str]) -> dict[Key, Row]:
        """Rows by (Dialogue_ID, Utterance_ID); those without an id, a speaker or words are counted and left out."""
        rows: dict[Key, Row] = {}
        for line, cells in files.read_table(data, path, (*COLUMNS, *(OLD_IDS if self._dyadic else ())), notes):
            where, key = f"{path}, line {line}", _numbers(cells, IDS)
            if OLD_IDS[0] in cells and not self._dyadic:
                hint = "call it by its published name (…_dya.csv) and set dataset.variant=dyadic"
                raise CorpusError(f"{path.name} holds MELD's dyadic variant", where=where, hint=hint)
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

    def _dialogue(self, number: int, rows: Sequence[Row], clips: files.Clips, notes: Counter[str]) -> Dialogue:
        name = f"{self.split}_{'dyad' if self._dyadic else 'dia'}{number}"
        origins = [_numbers(cells, OLD_IDS if self._dyadic else IDS) for _, cells in rows]
        turns: list[Turn] = []
        for at, (row, origin) in enumerate(zip(rows, origins, strict=True), start=1):
            clip = f"dia{origin[0]}_utt{origin[1]}.mp4" if origin else ""
            turns.append(self._turn(row, clips.find(f"{name}/{at}", clip), notes))
        episodes = {episode for _, cells in rows if (episode := _numbers(cells, ("Season", "Episode")))}
        notes["episodes_differing"] += len(episodes) > 1
        clock = "s{:02}e{:02}".format(*episodes.pop()) if len(episodes) == 1 else None
        conversation = next((f"meld/{self.split}/dia{origin[0]}" for origin in origins if origin), None)
        return Dialogue(name, tuple(turns), episode=clock, conversation=conversation)

    def _turn(self, row: Row, clip: Path | None, notes: Counter[str]) -> Turn:
        where, cells = row
        emotion = cells["Emotion"] or None
        if emotion and emotion not in self._labels:
            hint = f"the labels are {', '.join(self._labels)}; correct the line or set dataset.labels=[...]"
            raise CorpusError(f"unknown emotion {emotion!r}", where=where, hint=hint)
        notes["labels_missing"] += not emotion
        start, end = (_seconds(cells[column], notes) for column in ("StartTime", "EndTime"))
        if start is not None and end is not None and end <= start:
            end = None
            notes["spans_reversed"] += 1
        text = cells["Utterance"].replace("\n", " ")
        return Turn(cells["Speaker"], text, emotion, Clip(clip) if clip else None, start, end)


def _seconds(cell: str, notes: Counter[str]) -> float | None:
    """`H:MM:SS,mmm` in seconds. The digits after the comma are a decimal fraction, also where they are only two."""
    if match := TIME.fullmatch(cell):
        hours, minutes, seconds, fraction = match.groups()
        return int(hours) * 3600 + int(minutes) * 60 + float(f"{seconds}.{fraction}")
    notes["times_unreadable"] += 1
    return None


def _numbers(cells: Cells, columns: tuple[str, str]) -> Key | None:
    """The numbers in two columns; None where one is not there or a cell holds none."""
    first, second = (cells.get(column, "") for column in columns)
    return (int(first), int(second)) if NUMBER.fullmatch(first) and NUMBER.fullmatch(second) else None
