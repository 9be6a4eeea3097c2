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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from mmerg.corpora.dialogue import Clip, Corpus, Dialogue, Turn
from mmerg.corpora.files import Row, read_table, root_folder
from mmerg.corpora.meld_clips import Key, clip_name, list_clips
from mmerg.corpora.meld_csv import ROOT_HINT, SPLITS, find_csv, other_files
from mmerg.corpora.mixed_up import Held, refuse_mixed_up
from mmerg.errors import ConfigError, CorpusError

MELD_LABELS = ("neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust")
Variant = Literal["multi", "dyadic"]
COLUMNS = ("Utterance", "Speaker", "Emotion", "Dialogue_ID", "Utterance_ID", "StartTime", "EndTime")
OLD_COLUMNS = ("Old_Dialogue_ID", "Old_Utterance_ID")
TIME = re.compile(r"([0-9]{1,2}):([0-5][0-9]):([0-5][0-9])[,.]([0-9]{1,3})")
NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Meld:
    """One split of MELD. `root` is the folder with the csv files, MELD.Raw itself, or a folder that holds either.

    `variant` is multi (as published first) or dyadic. `clips=False` reads the words alone. Turn times are seconds on
    the clock of the episode, which a dialogue names (`s03e19`); a clip has no span of its own.
    """

    root: str | Path
    split: str = "test"
    labels: Sequence[str] = MELD_LABELS
    clips: bool = True
    variant: Variant = "multi"

    def load(self) -> Corpus:
        """Read the split. Dialogues are called `test_dia3`, dyads `test_dyad3`; the conversation of both is that of the
        dialogue (`meld/test/dia3`), for a dyad that of the first row that names one.

        `notes` counts rows left out (`rows_malformed`: misquoted or cut; `rows_incomplete`: no id, speaker or words),
        cells left out (`times_unreadable`, `spans_reversed`: an end not after its start), `labels_missing`,
        `clips_missing`, `episodes_differing` (dialogues whose rows name several episodes: they have none), and repairs
        of the encoding. Raises ConfigError for an unknown split or variant, CorpusError for a missing file or column,
        an unknown label, two rows for one turn, a file without a usable row, one that holds another split or variant,
        and clips that are not unpacked.
        """
        if self.split not in SPLITS:
            raise ConfigError(f"MELD has no split {self.split!r}", hint=f"dataset.split is one of {', '.join(SPLITS)}")
        if self.variant not in (variants := get_args(Variant)):
            hint = f"dataset.variant is one of {', '.join(variants)}"
            raise ConfigError(f"MELD has no variant {self.variant!r}", hint=hint)
        dyadic = self.variant == "dyadic"
        root = root_folder(self.root, ROOT_HINT)
        path = find_csv(root, self.split, self.variant)
        table = read_table(path, (*COLUMNS, *OLD_COLUMNS) if dyadic else COLUMNS)
        notes = Counter(table.notes)
        rows = _keyed(table.rows, path, notes)
        if not dyadic and OLD_COLUMNS[0] in table.rows[0].cells:
            hint = "call it by its published name (…_dya.csv) and set dataset.variant=dyadic"
            raise CorpusError(f"{path.name} holds MELD's dyadic variant", where=f"{path}, line 1", hint=hint)
        clips = list_clips(root, self.split) if self.clips else {}
        turns: dict[int, list[Turn]] = {}
        episodes: dict[int, set[str | None]] = {}
        conversations: dict[int, str] = {}
        absent: dict[str, str] = {}
        prefix = f"{self.split}_{'dyad' if dyadic else 'dia'}"
        for key, row in sorted(rows.items()):
            names_clip = _old_key(row) if dyadic else key
            clip = Clip(clips[names_clip]) if names_clip in clips else None
            turns.setdefault(key[0], []).append(self._turn(row, clip, path, notes))
            if self.clips and clip is None:
                absent[f"{prefix}{key[0]}/{len(turns[key[0]])}"] = clip_name(names_clip) if names_clip else ""
            episodes.setdefault(key[0], set()).add(_episode(row))
            if names_clip:  # a dyad of rows of several dialogues counts as of the first one
                conversations.setdefault(key[0], f"meld/{self.split}/dia{names_clip[0]}")
        notes["clips_missing"] = len(absent)
        held = Held("meld-dyadic" if dyadic else "meld", self.split, len(turns), len(rows))
        refuse_mixed_up(path, table.data, other_files(root, self.split, self.variant), held, SPLITS)
        return Corpus(
            name=held.name,
            split=self.split,
            labels=tuple(self.labels),
            dialogues=tuple(
                Dialogue(
                    f"{prefix}{n}",
                    tuple(turns[n]),
                    episode=_only(episodes[n] - {None}, notes),
                    conversation=conversations.get(n),
                )
                for n in turns
            ),
            fingerprint=hashlib.sha256(table.data).hexdigest(),
            notes={name: count for name, count in sorted(notes.items()) if count},
            absent=absent,
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


def _old_key(row: Row) -> Key | None:
    """The turn's ids before the dialogues were cut into dyads, which name its clip; None where they are no numbers."""
    dialogue, utterance = (row.cells[column] for column in OLD_COLUMNS)
    return (int(dialogue), int(utterance)) if NUMBER.fullmatch(dialogue) and NUMBER.fullmatch(utterance) else None


def _episode(row: Row) -> str | None:
    """`s03e19` for season 3, episode 19; None where a column or a cell is missing or no number."""
    season, episode = (row.cells.get(column, "") for column in ("Season", "Episode"))
    known = NUMBER.fullmatch(season) and NUMBER.fullmatch(episode)
    return f"s{int(season):02}e{int(episode):02}" if known else None


def _only(names: set[str | None], notes: Counter[str]) -> str | None:
    """The name that all turns share that have one; None where they disagree, which is counted."""
    notes["episodes_differing"] += len(names) > 1
    return names.pop() if len(names) == 1 else None
