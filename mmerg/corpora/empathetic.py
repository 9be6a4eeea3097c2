"""EmpatheticDialogues: talks of two about a situation that one of them lived through (Rashkin et al., ACL 2019).

A line of `test.csv`, the file this reads, by the split's name (train, valid or test):

    conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags
    hit:0_conv:0,2,guilty,I forgot her birthday_comma_ again.,0,Did you call her_comma_ at least?,5|5|5_5|5|5,

A comma inside a field is written `_comma_`, and nothing is quoted: a quotation mark is one. Utterances with an odd
number are those of who tells ("Speaker"), the others of who answers ("Listener"). `context` is the emotion that the
whole talk is about: each of its turns carries it, which is what CEM, HEF and TRACE score a forecast against. Annotators
labelled no turn by itself. `prompt` is the situation, which no model is shown. There are no clips.

    corpus = Empathetic("~/data/empatheticdialogues", split="test", label_set="ekman").load()
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.corpora.empathetic_labels import EKMAN, LABEL_SETS
from mmerg.corpora.files import holdings, is_file, is_folder, read_bytes, refuse_folder, root_folder, text_lines
from mmerg.corpora.label_sets import refuse_other_labels
from mmerg.corpora.mixed_up import Held, refuse_mixed_up
from mmerg.errors import ConfigError, CorpusError

SPEAKER, LISTENER = "Speaker", "Listener"
SPLITS = ("train", "valid", "test")
FOLDERS = ("", "empatheticdialogues")
COLUMNS = ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval", "tags")
UNCUT = 7  # a line with fewer fields may end within the utterance
ROOT_HINT = "set dataset.root to the folder that holds train.csv, valid.csv and test.csv"
AS_PUBLISHED = "take the file as published"
CONVERSATION = re.compile(r"hit:[0-9]+_conv:[0-9]+")
NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class Empathetic:
    """One split. `root` is the folder with the csv files, or the one that holds it (`empatheticdialogues/`).

    label_set: 32, the emotions as published, or ekman, the six that TRACE merges them into. told_labels: the labels
    that the configuration names, refused where they are not those of the set.
    """

    root: str | Path
    split: str = "test"
    label_set: Literal["32", "ekman"] = "32"
    told_labels: Sequence[str] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The emotions of the label set. Raises ConfigError for an unknown one."""
        if self.label_set not in LABEL_SETS:
            hint = f"dataset.label_set is one of {', '.join(LABEL_SETS)}"
            raise ConfigError(f"EmpatheticDialogues has no label set {self.label_set!r}", hint=hint)
        return LABEL_SETS[self.label_set]

    def load(self) -> Corpus:
        """Read the split. Only listeners' turns may be targets; dialogues are called `test_hit:0_conv:1`.

        `notes` counts rows left out (`rows_malformed`: cut or shifted; `rows_incomplete`: no id, number or words;
        `rows_repeated`: a number that the talk has already), rows whose context is none of the 32 or not the talk's
        (`labels_unknown`, `labels_differing`), turns of talks without any known context (`labels_missing`), and repairs
        of the encoding. Raises ConfigError for an unknown split or label set, CorpusError for a missing file or column,
        a file without a usable row or with the content of another split, and one most of whose contexts are unknown.
        """
        labels = self.labels
        refuse_other_labels(self.told_labels, labels, self.label_set)
        if self.split not in SPLITS:
            hint = f"dataset.split is one of {', '.join(SPLITS)}"
            raise ConfigError(f"EmpatheticDialogues has no split {self.split!r}", hint=hint)
        root = root_folder(self.root, ROOT_HINT)
        path = _find(root, self.split)
        data = read_bytes(path)
        notes: Counter[str] = Counter()
        talks: dict[str, dict[int, list[str]]] = {}
        for fields in _records(text_lines(data, path, notes), path, notes):
            talk = talks.setdefault(fields[0], {})
            notes["rows_repeated"] += int(fields[1]) in talk
            talk.setdefault(int(fields[1]), fields)
        _refuse_wrong(talks, path, notes)
        dialogues = tuple(self._dialogue(name, talk, notes) for name, talk in talks.items())
        others = {split: next(filter(is_file, _places(root, split)), None) for split in SPLITS if split != self.split}
        held = Held("empathetic", self.split, len(dialogues), sum(map(len, talks.values())))
        refuse_mixed_up(path, data, {split: place for split, place in others.items() if place}, held, SPLITS)
        return Corpus(
            name=held.name,
            split=self.split,
            labels=labels,
            dialogues=dialogues,
            fingerprint=hashlib.sha256(data).hexdigest(),
            notes={name: count for name, count in sorted(notes.items()) if count},
        )

    def _dialogue(self, name: str, talk: dict[int, list[str]], notes: Counter[str]) -> Dialogue:
        rows = [talk[number] for number in sorted(talk)]
        contexts = Counter(fields[2] for fields in rows if fields[2] in EKMAN)
        context = max(contexts, key=contexts.__getitem__, default=None)  # of two as frequent, the one that comes first
        notes["labels_differing"] += contexts.total() - (contexts[context] if context else 0)
        notes["labels_missing"] += 0 if context else len(rows)
        emotion = EKMAN[context] if context and self.label_set == "ekman" else context
        return Dialogue(
            id=f"{self.split}_{name}",
            turns=tuple(Turn(SPEAKER if number % 2 else LISTENER, talk[number][5], emotion) for number in sorted(talk)),
            responders=(LISTENER,),
            situation=next((fields[3] for fields in rows if fields[3]), None),
            conversation=name,
        )


def _records(lines: Sequence[str], path: Path, notes: Counter[str]) -> Iterator[list[str]]:
    """The fields of each usable line. What a line has beyond eight fields is no part of them."""
    header = [name.strip() for name in lines[0].split(",")]
    if header[: len(COLUMNS)] != list(COLUMNS):
        missing = ", ".join(name for name in COLUMNS if name not in header)
        raise CorpusError(
            f"{path.name} lacks columns: {missing}" if missing else f"{path.name} has its columns in another order",
            where=f"{path}, line 1; it has: {lines[0][:300].strip() or 'nothing'}",
            hint=f"{AS_PUBLISHED}; its first line is {','.join(COLUMNS)}",
        )
    for line in lines[1:]:
        fields = [field.strip().replace("_comma_", ",") for field in line.split(",")[: len(COLUMNS)]]
        if len(fields) < UNCUT or not fields[4].isdecimal():  # cut, or moved along by a comma that is not written out
            notes["rows_malformed"] += bool(line.strip())
        elif CONVERSATION.fullmatch(fields[0]) and NUMBER.fullmatch(fields[1]) and fields[5]:
            yield fields
        else:
            notes["rows_incomplete"] += 1


def _refuse_wrong(talks: dict[str, dict[int, list[str]]], path: Path, notes: Counter[str]) -> None:
    """Raises CorpusError where no row can be used, or most contexts are no emotion: a wrong file or column."""
    contexts = Counter(fields[2] for talk in talks.values() for fields in talk.values())
    if not contexts:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(notes.items()) if count)
        raise CorpusError(f"{path.name} holds no usable row", where=f"{path}; {counts or 'no rows'}", hint=AS_PUBLISHED)
    unknown = Counter({context: count for context, count in contexts.items() if context not in EKMAN})
    notes["labels_unknown"] = unknown.total()
    if 2 * unknown.total() > contexts.total():
        shown = ", ".join(repr(context[:40]) for context, _ in unknown.most_common(3))
        raise CorpusError(
            f"most contexts in {path.name} are no emotions of EmpatheticDialogues, but {shown}",
            where=str(path),
            hint=f"{AS_PUBLISHED}; the third field is one of {', '.join(sorted(EKMAN))}",
        )


def _places(root: Path, split: str) -> list[Path]:
    return [root / folder / f"{split}.csv" for folder in FOLDERS]


def _find(root: Path, split: str) -> Path:
    places = _places(root, split)
    for place in places:
        if is_file(place):
            return place
    refuse_folder(places)
    inner = root / FOLDERS[1]
    held = "; ".join(holdings(folder) for folder in ((root, inner) if is_folder(inner) else (root,)))
    archive = root / "empatheticdialogues.tar.gz"
    raise CorpusError(
        f"no {split}.csv for EmpatheticDialogues' {split} split",
        where=f"looked in {', '.join(str(place.parent) for place in places)}; {held}",
        hint=f"unpack {archive}" if is_file(archive) else ROOT_HINT,
    )
