"""MELD: multi-party dialogues of a TV series, a label a turn and a clip a turn (Poria et al., ACL 2019).

A line of `test_sent_emo.csv`, the file this reads, by the split's name:

    Sr No.,Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID,Season,Episode,StartTime,EndTime
    1,"Oh. That’s so...",Rachel,anger,negative,0,1,3,19,"00:14:40,629","00:14:47,385"

Order comes from Utterance_ID, which has gaps. Sentiment is not used; no clip is opened.

The dyadic variant cuts each dialogue into talks of two; turns recur in several of them. `test_sent_emo_dya.csv` has no
`Sr No.`; its Old_Dialogue_ID and Old_Utterance_ID are those of the row that it was, and name the clip:

    Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID,Old_Dialogue_ID,Old_Utterance_ID,Season,Episode,…

    corpus = Meld("~/data/MELD.Raw", split="test").load()
    dyads = Meld("~/data/MELD", split="test", variant="dyadic").load()
"""

from __future__ import annotations

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
from mmerg.corpora.meld_clips import RELEASE_FOLDER, Key, archives, clip_name, list_clips
from mmerg.corpora.published import refuse_mixed_up
from mmerg.errors import CorpusError

MELD_LABELS = ("neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust")
Variant = Literal["multi", "dyadic"]
SPLITS = tuple(RELEASE_FOLDER)
FILES = {  # names, and folders beside those of every variant
    "multi": ("{}_sent_emo.csv", ("data/MELD",)),
    "dyadic": ("{}_sent_emo_dya.csv", ("data/MELD_Dyadic", "MELD_Dyadic")),
}
ID_COLUMNS = ("Dialogue_ID", "Utterance_ID")
EPISODE_COLUMNS = ("Season", "Episode")
OLD_COLUMNS = ("Old_Dialogue_ID", "Old_Utterance_ID")
COLUMNS = ("Utterance", "Speaker", "Emotion", *ID_COLUMNS, "StartTime", "EndTime")
TIME = re.compile(r"([0-9]{1,2}):([0-5][0-9]):([0-5][0-9])[,.]([0-9]{1,3})")
NUMBER = re.compile(r"[0-9]{1,9}")
ROOT_HINT = "set dataset.root to the folder that holds the csv files or MELD.Raw (layouts: docs/datasets.md)"


@dataclass(frozen=True)
class Meld:
    """One split of MELD. `root` is the folder with the csv files, MELD.Raw itself, or a folder that holds either.

    labels: None for MELD's seven. `variant` is multi (as published first) or dyadic. `clips=False` reads the words
    alone. Turn times are seconds on the clock of the episode, which a dialogue names (`s03e19`); a clip has no span of
    its own.
    """

    root: str | Path
    split: str = "test"
    labels: Sequence[str] | None = None
    clips: bool = True
    variant: Variant = "multi"

    def load(self) -> Corpus:
        """Read the split. Dialogues are called `test_dia3`, dyads `test_dyad3`; the conversation of both is that of the
        dialogue (`meld/test/dia3`), for a dyad that of the first row that names one.

        Damaged rows and cells are left out and counted in `notes` (docs/datasets.md names the counts). Raises
        ConfigError for an unknown split or variant, CorpusError for a missing file or column, an unknown label, two
        rows for one turn, a file without a usable row, one that holds another split or variant, and clips that are not
        unpacked.
        """
        files.refuse_other("dataset.split", self.split, SPLITS)
        files.refuse_other("dataset.variant", self.variant, FILES)
        dyadic = self.variant == "dyadic"
        root = files.root_folder(self.root, ROOT_HINT)
        places = _places(root, self.split, self.variant)
        elsewhere = dyadic and files.first_file(_places(root, self.split, "multi"))
        hint = "its folder MELD_Dyadic belongs beside MELD's own; or dataset.variant=multi" if elsewhere else ROOT_HINT
        what = f"no {places[0].name} for MELD's {self.split} split"
        path = files.find_file(places, what, hint, archives(root, self.split))
        table = files.read_table(path, (*COLUMNS, *OLD_COLUMNS) if dyadic else COLUMNS)
        notes = Counter(table.notes)
        rows = _keyed(table.rows, path, notes)
        if not dyadic and OLD_COLUMNS[0] in table.rows[0].cells:
            hint = "call it by its published name (…_dya.csv) and set dataset.variant=dyadic"
            raise CorpusError(f"{path.name} holds MELD's dyadic variant", where=f"{path}, line 1", hint=hint)
        clips = list_clips(root, self.split) if self.clips else {}
        dialogues: list[Dialogue] = []
        absent: dict[str, str] = {}
        for number, keys in groupby(sorted(rows), key=lambda key: key[0]):
            name = f"{self.split}_{'dyad' if dyadic else 'dia'}{number}"
            own = {key: rows[key] for key in keys}
            named = [_ids(row, OLD_COLUMNS) if dyadic else key for key, row in own.items()]
            paths = [clips.get(key) if key else None for key in named]
            if self.clips:
                absent |= {
                    f"{name}/{at}": clip_name(key) if key else ""
                    for at, (key, file) in enumerate(zip(named, paths, strict=True), start=1)
                    if not file
                }
            conversation = next((key[0] for key in named if key), None)
            dialogues.append(
                Dialogue(
                    name,
                    tuple(self._turn(row, file, path, notes) for row, file in zip(own.values(), paths, strict=True)),
                    episode=_episode(own, notes),
                    conversation=None if conversation is None else f"meld/{self.split}/dia{conversation}",
                )
            )
        notes["clips_missing"] = len(absent)
        corpus = Corpus(
            name="meld-dyadic" if dyadic else "meld",
            split=self.split,
            labels=self._labels,
            dialogues=tuple(dialogues),
            fingerprint=hashlib.sha256(table.data).hexdigest(),
            notes=files.found(notes),
            absent=absent,
        )
        others = {
            split: files.first_file(_places(root, split, self.variant)) for split in SPLITS if split != self.split
        }
        refuse_mixed_up(corpus, path, table.data, others)
        return corpus

    @property
    def _labels(self) -> tuple[str, ...]:
        return MELD_LABELS if self.labels is None else tuple(self.labels)

    def _turn(self, row: files.Row, clip: Path | None, path: Path, notes: Counter[str]) -> Turn:
        emotion = row.cells["Emotion"]
        if emotion and emotion not in self._labels:
            raise CorpusError(
                f"unknown emotion {emotion!r}",
                where=f"{path}, line {row.line}",
                hint=f"the labels are {', '.join(self._labels)}; correct the line or set dataset.labels=[...]",
            )
        notes["labels_missing"] += not emotion
        start, end = (_seconds(row.cells[column], notes) for column in ("StartTime", "EndTime"))
        if start is not None and end is not None and end <= start:
            end = None
            notes["spans_reversed"] += 1
        words = row.cells["Utterance"].replace("\n", " ")
        return Turn(row.cells["Speaker"], words, emotion or None, Clip(clip) if clip else None, start, end)


def _keyed(rows: Sequence[files.Row], path: Path, notes: Counter[str]) -> dict[Key, files.Row]:
    """Rows by (Dialogue_ID, Utterance_ID); those without an id, a speaker or words are counted and left out."""
    keyed: dict[Key, files.Row] = {}
    for row in rows:
        key = _ids(row, ID_COLUMNS)
        if key is None or not (row.cells["Speaker"] and row.cells["Utterance"]):
            notes["rows_incomplete"] += 1
            continue
        if key in keyed:
            raise CorpusError(
                f"two rows for utterance {key[1]} of dialogue {key[0]}",
                where=f"{path}, lines {keyed[key].line} and {row.line}",
                hint=f"{files.AS_PUBLISHED}, or delete the wrong row",
            )
        keyed[key] = row
    if not keyed:
        raise CorpusError(f"{path.name} holds no usable row", where=str(path), hint=files.AS_PUBLISHED)
    return keyed


def _seconds(cell: str, notes: Counter[str]) -> float | None:
    """`H:MM:SS,mmm` in seconds. The digits after the comma are a decimal fraction, also where they are only two."""
    match = TIME.fullmatch(cell)
    if not match:
        notes["times_unreadable"] += 1
        return None
    hours, minutes, seconds, fraction = match.groups()
    return int(hours) * 3600 + int(minutes) * 60 + float(f"{seconds}.{fraction}")


def _ids(row: files.Row, columns: Sequence[str]) -> Key | None:
    """The numbers in two columns; None where one is not there or a cell holds none."""
    first, second = (row.cells.get(column, "") for column in columns)
    return (int(first), int(second)) if NUMBER.fullmatch(first) and NUMBER.fullmatch(second) else None


def _episode(rows: Mapping[Key, files.Row], notes: Counter[str]) -> str | None:
    """`s03e19` for season 3, episode 19: the one that all rows name which name any; None where they disagree, which is
    counted."""
    known = filter(None, (_ids(row, EPISODE_COLUMNS) for row in rows.values()))
    names = {f"s{season:02}e{episode:02}" for season, episode in known}
    notes["episodes_differing"] += len(names) > 1
    return names.pop() if len(names) == 1 else None


def _places(root: Path, split: str, variant: str) -> list[Path]:
    """Where the csv file may lie, best first."""
    name, folders = FILES[variant]
    inner = ("", "MELD.Raw", *folders, split, f"MELD.Raw/{split}")
    return [root / folder / name.format(split) for folder in inner]
