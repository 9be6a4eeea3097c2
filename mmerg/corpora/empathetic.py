"""EmpatheticDialogues: conversations of two about a situation that one lived through (Rashkin et al., ACL 2019).

    conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags
    hit:0_conv:0,2,guilty,I forgot her birthday_comma_ again.,0,Did you call her_comma_ at least?,5|5|5_5|5|5,

Cells are not quoted. Odd utterances are by the person who tells ("Speaker"), even ones by the one who answers
("Listener"). `context` is the emotion of the whole conversation; each turn carries it, as CEM, HEF and TRACE score
forecasts against it. `prompt` is the situation, which a source may show (TRACE).

    corpus = Empathetic("~/data/empatheticdialogues", split="test", label_set="ekman").load()
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mmerg.corpora import files
from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.corpora.published import refuse_mixed_up
from mmerg.errors import CorpusError

SPEAKER, LISTENER = "Speaker", "Listener"
SPLITS = ("train", "valid", "test")
# A line without `selfeval` may end within the utterance.
COLUMNS = ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval")
ROOT_HINT = "set dataset.root to the folder that holds train.csv, valid.csv and test.csv"
CONVERSATION = re.compile(r"hit:[0-9]+_conv:[0-9]+")
NUMBER = re.compile(r"[1-9][0-9]{0,8}")
Rows = dict[int, Mapping[str, str]]  # of a conversation, by utterance_idx

# TRACE (arXiv 2509.21849) merges the 32 emotions into six. Its map omits `prepared`, which is happiness here.
_MERGED = {
    "happiness": "joyful excited proud grateful content impressed caring trusting faithful hopeful confident"
    " sentimental prepared",
    "sadness": "sad lonely disappointed devastated nostalgic guilty ashamed embarrassed",
    "anger": "angry furious annoyed jealous",
    "fear": "afraid terrified anxious apprehensive",
    "disgust": "disgusted",
    "surprise": "surprised anticipating",
}
EKMAN = {emotion: six for six, emotions in _MERGED.items() for emotion in emotions.split()}
LABEL_SETS = {"32": tuple(sorted(EKMAN)), "ekman": tuple(_MERGED)}


@dataclass(frozen=True)
class Empathetic:
    """One split of EmpatheticDialogues. root: the folder with the csv files, or its parent folder. label_set: 32 for
    the emotions as published, ekman for the six that TRACE merges them into."""

    root: str | Path
    split: str = "test"
    label_set: Literal["32", "ekman"] = "32"

    def load(self) -> Corpus:
        """Read the split. Only listeners' turns may be targets. A dialogue is called `test_hit:0_conv:1`. Raises
        ConfigError for an unknown split or label set, and CorpusError for a missing, damaged or mixed-up file."""
        files.require_choice(SPLITS, "dataset.split", self.split)
        files.require_choice(LABEL_SETS, "dataset.label_set", self.label_set)
        root = files.root_folder(self.root, ROOT_HINT)
        places = {split: [root / f"{split}.csv", root / "empatheticdialogues" / f"{split}.csv"] for split in SPLITS}
        what = f"no {self.split}.csv for EmpatheticDialogues' {self.split} split"
        path = files.find(places[self.split], what, ROOT_HINT)
        data = files.read_bytes(path)
        notes: Counter[str] = Counter()
        talks: dict[str, Rows] = {}
        for _, cells in files.read_table(data, path, COLUMNS, notes, quoted=False):
            row = {column: cell.replace("_comma_", ",") for column, cell in cells.items()}
            name, number = row["conv_id"], row["utterance_idx"]
            if not row["speaker_idx"].isdecimal():  # a literal comma has shifted the cells
                notes["rows_malformed"] += 1
            elif CONVERSATION.fullmatch(name) and NUMBER.fullmatch(number) and row["utterance"]:
                talk = talks.setdefault(name, {})
                notes["rows_repeated"] += int(number) in talk
                talk.setdefault(int(number), row)
            else:
                notes["rows_incomplete"] += 1
        self._refuse_wrong_contexts(talks, path, notes)
        dialogues = tuple(self._build_dialogue(name, talk, notes) for name, talk in talks.items())
        digest = hashlib.sha256(data).hexdigest()
        labels = LABEL_SETS[self.label_set]
        corpus = Corpus("empathetic", self.split, labels, dialogues, digest, files.nonzero(notes))
        refuse_mixed_up(corpus, path, data, places)
        return corpus

    def _build_dialogue(self, name: str, talk: Rows, notes: Counter[str]) -> Dialogue:
        rows = sorted(talk.items())
        contexts = Counter(row["context"] for _, row in rows if row["context"] in EKMAN)
        context = max(contexts, key=contexts.__getitem__, default=None)  # a tie goes to the first
        notes["labels_differing"] += contexts.total() - (contexts[context] if context else 0)
        notes["labels_missing"] += 0 if context else len(rows)
        emotion = EKMAN[context] if context and self.label_set == "ekman" else context
        return Dialogue(
            id=f"{self.split}_{name}",
            turns=tuple(Turn(SPEAKER if number % 2 else LISTENER, row["utterance"], emotion) for number, row in rows),
            responders=(LISTENER,),
            situation=next((row["prompt"] for _, row in rows if row["prompt"]), None),
            conversation=name,
        )

    def _refuse_wrong_contexts(self, talks: Mapping[str, Rows], path: Path, notes: Counter[str]) -> None:
        contexts = Counter(row["context"] for talk in talks.values() for row in talk.values())
        unknown = Counter({context: count for context, count in contexts.items() if context not in EKMAN})
        notes["labels_unknown"] = unknown.total()
        if not contexts:
            counts = ", ".join(f"{count} {name}" for name, count in files.nonzero(notes).items()) or "no rows"
            raise CorpusError(f"{path.name} holds no usable row", where=f"{path}; {counts}", hint=files.AS_PUBLISHED)
        if 2 * unknown.total() > contexts.total():
            first = ", ".join(repr(context[:40]) for context, _ in unknown.most_common(3))
            what = f"most contexts in {path.name} are not emotions of EmpatheticDialogues: {first}"
            hint = f"{files.AS_PUBLISHED}; the third field is one of {', '.join(sorted(EKMAN))}"
            raise CorpusError(what, where=str(path), hint=hint)
