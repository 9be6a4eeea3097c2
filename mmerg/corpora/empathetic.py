"""EmpatheticDialogues: talks of two about a situation that one of them lived through (Rashkin et al., ACL 2019).

    conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags
    hit:0_conv:0,2,guilty,I forgot her birthday_comma_ again.,0,Did you call her_comma_ at least?,5|5|5_5|5|5,

Nothing is quoted. Odd utterances are those of who tells ("Speaker"), even ones of who answers ("Listener"). `context`
is the emotion of the whole talk: each of its turns carries it, which is what CEM, HEF and TRACE score a forecast
against. `prompt` is the situation, which a source may show (TRACE).

    corpus = Empathetic("~/data/empatheticdialogues", split="test", label_set="ekman").load()
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mmerg.corpora import files
from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.corpora.published import refuse_mixed_up
from mmerg.errors import CorpusError

SPEAKER, LISTENER = "Speaker", "Listener"
SPLITS = ("train", "valid", "test")
COLUMNS = ["conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval", "tags"]
UNCUT = 7  # a line with fewer fields may end within the utterance
ROOT_HINT = "set dataset.root to the folder that holds train.csv, valid.csv and test.csv"
CONVERSATION = re.compile(r"hit:[0-9]+_conv:[0-9]+")
NUMBER = re.compile(r"[1-9][0-9]{0,8}")

# The six that TRACE (arXiv 2509.21849) merges the 32 into; `prepared`, which its map leaves out, is happiness here.
_MERGED = {
    "happiness": "joyful excited proud grateful content impressed caring trusting faithful hopeful confident"
    " sentimental prepared",
    "sadness": "sad lonely disappointed devastated nostalgic guilty ashamed embarrassed",
    "anger": "angry furious annoyed jealous",
    "fear": "afraid terrified anxious apprehensive",
    "disgust": "disgusted",
    "surprise": "surprised anticipating",
}
EKMAN = {one: six for six, ones in _MERGED.items() for one in ones.split()}
LABEL_SETS = {"32": tuple(sorted(EKMAN)), "ekman": tuple(_MERGED)}


@dataclass(frozen=True)
class Empathetic:
    """One split. `root` is the folder with the csv files, or the one that holds it (`empatheticdialogues/`). label_set:
    32, the emotions as published, or ekman, the six that TRACE merges them into."""

    root: str | Path
    split: str = "test"
    label_set: Literal["32", "ekman"] = "32"

    def load(self) -> Corpus:
        """Read the split. Only listeners' turns may be targets; dialogues are called `test_hit:0_conv:1`. What is
        damaged is left out and counted in `notes` (docs/datasets.md). Raises ConfigError for an unknown split or label
        set, CorpusError for a missing file or column, no usable row, another split, or mostly unknown contexts."""
        files.refuse_other("dataset.split", self.split, SPLITS)
        files.refuse_other("dataset.label_set", self.label_set, LABEL_SETS)
        root = files.root_folder(self.root, ROOT_HINT)
        what = f"no {self.split}.csv for EmpatheticDialogues' {self.split} split"
        places = {split: [root / f"{split}.csv", root / "empatheticdialogues" / f"{split}.csv"] for split in SPLITS}
        path, data = files.find_and_read(places[self.split], what, ROOT_HINT, [root / "empatheticdialogues.tar.gz"])
        notes: Counter[str] = Counter()
        talks: dict[str, dict[int, list[str]]] = {}
        for fields in _records(files.text_lines(data, path, notes), path, notes):
            talk = talks.setdefault(fields[0], {})
            notes["rows_repeated"] += int(fields[1]) in talk
            talk.setdefault(int(fields[1]), fields)
        _refuse_wrong(talks, path, notes)
        dialogues = tuple(self._dialogue(name, talk, notes) for name, talk in talks.items())
        labels, fingerprint = LABEL_SETS[self.label_set], hashlib.sha256(data).hexdigest()
        corpus = Corpus("empathetic", self.split, labels, dialogues, fingerprint, files.counted(notes))
        refuse_mixed_up(corpus, path, data, places)
        return corpus

    def _dialogue(self, name: str, talk: dict[int, list[str]], notes: Counter[str]) -> Dialogue:
        rows = sorted(talk.items())
        contexts = Counter(fields[2] for _, fields in rows if fields[2] in EKMAN)
        context = max(contexts, key=contexts.__getitem__, default=None)  # of two as frequent, the one that comes first
        notes["labels_differing"] += contexts.total() - (contexts[context] if context else 0)
        notes["labels_missing"] += 0 if context else len(rows)
        emotion = EKMAN[context] if context and self.label_set == "ekman" else context
        return Dialogue(
            id=f"{self.split}_{name}",
            turns=tuple(Turn(SPEAKER if number % 2 else LISTENER, fields[5], emotion) for number, fields in rows),
            responders=(LISTENER,),
            situation=next((fields[3] for _, fields in rows if fields[3]), None),
            conversation=name,
        )


def _records(lines: Sequence[str], path: Path, notes: Counter[str]) -> Iterator[list[str]]:
    """The fields of each usable line. What a line has beyond eight fields is no part of them."""
    header = [name.strip() for name in lines[0].split(",")]
    if header[: len(COLUMNS)] != COLUMNS:
        missing = ", ".join(name for name in COLUMNS if name not in header)
        what = f"{path.name} lacks columns: {missing}" if missing else f"{path.name} has its columns in another order"
        where = f"{path}, line 1; it has: {lines[0][:300].strip() or 'nothing'}"
        raise CorpusError(what, where=where, hint=f"{files.AS_PUBLISHED}; its first line is {','.join(COLUMNS)}")
    for line in lines[1:]:
        fields = [field.strip().replace("_comma_", ",") for field in line.split(",")[: len(COLUMNS)]]
        if len(fields) < UNCUT or not fields[4].isdecimal():  # cut, or moved along by a comma that is not written out
            notes["rows_malformed"] += bool(line.strip())
        elif CONVERSATION.fullmatch(fields[0]) and NUMBER.fullmatch(fields[1]) and fields[5]:
            yield fields
        else:
            notes["rows_incomplete"] += 1


def _refuse_wrong(talks: Mapping[str, dict[int, list[str]]], path: Path, notes: Counter[str]) -> None:
    """Raises CorpusError where no row can be used, or most contexts are no emotion: a wrong file or column."""
    contexts = Counter(fields[2] for talk in talks.values() for fields in talk.values())
    if not contexts:
        where = f"{path}; {', '.join(f'{count} {name}' for name, count in files.counted(notes).items()) or 'no rows'}"
        raise CorpusError(f"{path.name} holds no usable row", where=where, hint=files.AS_PUBLISHED)
    unknown = Counter({context: count for context, count in contexts.items() if context not in EKMAN})
    notes["labels_unknown"] = unknown.total()
    if 2 * unknown.total() > contexts.total():
        shown = ", ".join(repr(context[:40]) for context, _ in unknown.most_common(3))
        what = f"most contexts in {path.name} are no emotions of EmpatheticDialogues, but {shown}"
        hint = f"{files.AS_PUBLISHED}; the third field is one of {', '.join(sorted(EKMAN))}"
        raise CorpusError(what, where=str(path), hint=hint)
