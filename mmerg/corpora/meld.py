"""MELD: multi-party dialogues of a TV series, a label and a clip (`dia0_utt1.mp4`) a turn (Poria et al., ACL 2019).

    Sr No.,Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID,Season,Episode,StartTime,EndTime
    1,"Oh. That’s so...",Rachel,anger,negative,0,1,3,19,"00:14:40,629","00:14:47,385"

Order comes from Utterance_ID, which has gaps. The dyadic variant cuts each dialogue into talks of two, in which turns
recur; its Old_Dialogue_ID and Old_Utterance_ID are those of the row that a turn was, and name the clip.

    corpus = Meld("~/data/MELD.Raw", split="test").load()
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from mmerg.corpora import files
from mmerg.corpora.dialogue import Clip, Corpus, Dialogue, Turn
from mmerg.corpora.published import refuse_mixed_up
from mmerg.errors import CorpusError

MELD_LABELS = ("neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust")
Row = tuple[int, dict[str, str]]  # the line it starts on, its cells by column
Key = tuple[int, int]
RAW = "MELD.Raw"
CLIP_FOLDERS = {"train": "train_splits", "dev": "dev_splits_complete", "test": "output_repeated_splits_test"}
FILES = {  # names, and folders beside those of every variant
    "multi": ("{}_sent_emo.csv", ("data/MELD",)),
    "dyadic": ("{}_sent_emo_dya.csv", ("data/MELD_Dyadic", "MELD_Dyadic")),
}
IDS, EPISODE = ("Dialogue_ID", "Utterance_ID"), ("Season", "Episode")
OLD_IDS = ("Old_Dialogue_ID", "Old_Utterance_ID")
COLUMNS = ("Utterance", "Speaker", "Emotion", *IDS, "StartTime", "EndTime")
TIME = re.compile(r"([0-9]{1,2}):([0-5][0-9]):([0-5][0-9])[,.]([0-9]{1,3})")
NUMBER = re.compile(r"[0-9]{1,9}")
ROOT_HINT = "set dataset.root to the folder that holds the csv files or MELD.Raw (layouts: docs/datasets.md)"


@dataclass(frozen=True)
class Meld:
    """One split. `root` is the folder with the csv files, MELD.Raw itself, or a folder that holds either; labels: None
    for MELD's seven. `clips=False` reads the words alone. Turn times are seconds on the clock of the episode, which a
    dialogue names (`s03e19`)."""

    root: str | Path
    split: str = "test"
    labels: Sequence[str] | None = None
    clips: bool = True
    variant: Literal["multi", "dyadic"] = "multi"

    def load(self) -> Corpus:
        """Read the split. Dialogues are called `test_dia3`, dyads `test_dyad3`; the conversation of both is that of the
        dialogue (`meld/test/dia3`), for a dyad that of the first row that names one. What is damaged is left out and
        counted in `notes`. Raises ConfigError for an unknown split or variant, CorpusError for files
        that cannot be used."""
        files.refuse_other("dataset.split", self.split, CLIP_FOLDERS)
        files.refuse_other("dataset.variant", self.variant, FILES)
        dyadic = self.variant == "dyadic"
        root = files.root_folder(self.root, ROOT_HINT)
        csv, beside = FILES[self.variant]
        places = {
            split: [root / folder / csv.format(split) for folder in ("", RAW, *beside, split, f"{RAW}/{split}")]
            for split in CLIP_FOLDERS
        }
        bases = (root, root / RAW)
        archives = [base / name for name in (f"{self.split}.tar.gz", f"{RAW}.tar.gz") for base in bases]
        what = f"no {csv.format(self.split)} for MELD's {self.split} split"
        also = "; its folder MELD_Dyadic belongs beside MELD's own; or dataset.variant=multi" if dyadic else ""
        path, data = files.find_and_read(places[self.split], what, ROOT_HINT + also, archives)
        labels = MELD_LABELS if self.labels is None else tuple(self.labels)
        notes: Counter[str] = Counter()
        columns = (*COLUMNS, *OLD_IDS) if dyadic else COLUMNS
        rows = _keyed(files.read_table(data, path, columns, notes), path, notes)
        if not dyadic and OLD_IDS[0] in next(iter(rows.values()))[1]:
            hint = "call it by its published name (…_dya.csv) and set dataset.variant=dyadic"
            raise CorpusError(f"{path.name} holds MELD's dyadic variant", where=f"{path}, line 1", hint=hint)
        inner = CLIP_FOLDERS[self.split]
        folders = [base / one for one in (f"{self.split}/{inner}", inner, self.split) for base in reversed(bases)]
        clips = files.Clips()
        dialogues: list[Dialogue] = []
        for number, keys in groupby(sorted(rows), key=lambda key: key[0]):
            name = f"{self.split}_{'dyad' if dyadic else 'dia'}{number}"
            talk = [rows[key] for key in keys]
            named = [_ids(cells, OLD_IDS if dyadic else IDS) for _, cells in talk]
            turns: list[Turn] = []
            for at, (row, key) in enumerate(zip(talk, named, strict=True), start=1):
                clip = f"dia{key[0]}_utt{key[1]}.mp4" if key else ""
                file = clips.find(f"{name}/{at}", clip, folders) if self.clips else None
                turns.append(_turn(row, file, labels, path, notes))
            conversation = next((f"meld/{self.split}/dia{key[0]}" for key in named if key), None)
            dialogues.append(Dialogue(name, tuple(turns), episode=_episode(talk, notes), conversation=conversation))
        if len(clips.absent) == len(rows) and (packed := files.first_file(archives)):
            what, where = (
                f"no clip of MELD's {self.split} split is unpacked",
                f"looked in {', '.join(map(str, folders))}",
            )
            hint = f"unpack {packed}, or read words only: dataset.reader.clips=false"
            raise CorpusError(what, where=where, hint=hint)
        notes["clips_missing"] = len(clips.absent)
        name, digest = "meld-dyadic" if dyadic else "meld", hashlib.sha256(data).hexdigest()
        counts = files.counted(notes)
        corpus = Corpus(name, self.split, labels, tuple(dialogues), digest, counts, clips.absent)
        refuse_mixed_up(corpus, path, data, places)
        return corpus


def _keyed(rows: Iterable[Row], path: Path, notes: Counter[str]) -> dict[Key, Row]:
    """Rows by (Dialogue_ID, Utterance_ID); those without an id, a speaker or words are counted and left out."""
    keyed: dict[Key, Row] = {}
    for line, cells in rows:
        key = _ids(cells, IDS)
        if key is None or not (cells["Speaker"] and cells["Utterance"]):
            notes["rows_incomplete"] += 1
            continue
        if key in keyed:
            what = f"two rows for utterance {key[1]} of dialogue {key[0]}"
            where = f"{path}, lines {keyed[key][0]} and {line}"
            raise CorpusError(what, where=where, hint=f"{files.AS_PUBLISHED}, or delete the wrong row")
        keyed[key] = line, cells
    if not keyed:
        raise CorpusError(f"{path.name} holds no usable row", where=str(path), hint=files.AS_PUBLISHED)
    return keyed


def _turn(row: Row, clip: Path | None, labels: Sequence[str], path: Path, notes: Counter[str]) -> Turn:
    line, cells = row
    emotion = cells["Emotion"]
    if emotion and emotion not in labels:
        hint = f"the labels are {', '.join(labels)}; correct the line or set dataset.labels=[...]"
        raise CorpusError(f"unknown emotion {emotion!r}", where=f"{path}, line {line}", hint=hint)
    notes["labels_missing"] += not emotion
    start, end = (_seconds(cells[column], notes) for column in ("StartTime", "EndTime"))
    if start is not None and end is not None and end <= start:
        end = None
        notes["spans_reversed"] += 1
    text = cells["Utterance"].replace("\n", " ")
    return Turn(cells["Speaker"], text, emotion or None, Clip(clip) if clip else None, start, end)


def _seconds(cell: str, notes: Counter[str]) -> float | None:
    """`H:MM:SS,mmm` in seconds. The digits after the comma are a decimal fraction, also where they are only two."""
    if match := TIME.fullmatch(cell):
        hours, minutes, seconds, fraction = match.groups()
        return int(hours) * 3600 + int(minutes) * 60 + float(f"{seconds}.{fraction}")
    notes["times_unreadable"] += 1
    return None


def _ids(cells: Mapping[str, str], columns: Sequence[str]) -> Key | None:
    """The numbers in two columns; None where one is not there or a cell holds none."""
    first, second = (cells.get(column, "") for column in columns)
    return (int(first), int(second)) if NUMBER.fullmatch(first) and NUMBER.fullmatch(second) else None


def _episode(rows: Sequence[Row], notes: Counter[str]) -> str | None:
    """`s03e19` for season 3, episode 19; None where no row names one, or rows disagree, which is counted."""
    found = {ids for _, cells in rows if (ids := _ids(cells, EPISODE))}
    notes["episodes_differing"] += len(found) > 1
    return "s{:02}e{:02}".format(*found.pop()) if len(found) == 1 else None
