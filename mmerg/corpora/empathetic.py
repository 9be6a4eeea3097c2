"""EmpatheticDialogues: two people talk about a situation that one of them lived through (Rashkin et al., ACL 2019).

    conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags
    hit:0_conv:0,2,guilty,I forgot her birthday_comma_ again.,0,Did you call her_comma_ at least?,5|5|5_5|5|5,

Cells are not quoted. Odd utterances are by the person who tells of the situation ("Speaker"), even ones by the other
("Listener"). `context` is the emotion of the whole conversation, and becomes the label of each turn, as CEM, HEF and
TRACE score forecasts against it. `prompt` is the situation, which a source may show (TRACE).

    corpus = Empathetic("~/data/empatheticdialogues", split="test", label_set="ekman").load()
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic.dataclasses import dataclass as checked_dataclass

from mmerg.corpora import files
from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.corpora.published import refuse_mixed_up

Split = Literal["train", "valid", "test"]
SPEAKER, LISTENER = "Speaker", "Listener"
# `selfeval` is not used, but a line without it may end within the utterance.
COLUMNS = ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval")
ROOT_HINT = "set dataset.root to the folder that holds train.csv, valid.csv and test.csv"
CONVERSATION = re.compile(r"hit:[0-9]+_conv:[0-9]+")
NUMBER = re.compile(r"[1-9][0-9]{0,8}")
Rows = dict[int, Mapping[str, str]]  # the rows of a conversation by utterance_idx

# TRACE (arXiv 2509.21849) merges the 32 emotions into six. Its map lacks `prepared`, which counts as happiness here.
_MERGED = {
    "happiness": "joyful excited proud grateful content impressed caring trusting faithful hopeful confident"
    " sentimental prepared",
    "sadness": "sad lonely disappointed devastated nostalgic guilty ashamed embarrassed",
    "anger": "angry furious annoyed jealous",
    "fear": "afraid terrified anxious apprehensive",
    "disgust": "disgusted",
    "surprise": "surprised anticipating",
}
EKMAN = {emotion: merged for merged, emotions in _MERGED.items() for emotion in emotions.split()}
LABEL_SETS = {"32": tuple(sorted(EKMAN)), "ekman": tuple(_MERGED)}


@checked_dataclass(frozen=True)
class Empathetic:
    """The reader of a split of EmpatheticDialogues. root: the folder with the csv files, or its parent folder.
    label_set: 32 for the published emotions, or ekman for the six into which TRACE merges them."""

    root: str | Path
    split: Split = "test"
    label_set: Literal["32", "ekman"] = "32"

    def load(self) -> Corpus:
        """Reads the split. Only listeners' turns may be targets. Dialogues have ids such as `test_hit:0_conv:1`. Raises
        CorpusError if the file is missing, damaged or of another split."""
        root = files.root_folder(self.root, ROOT_HINT)
        file_name = f"{self.split}.csv"
        what = f"no {file_name} for EmpatheticDialogues' {self.split} split"
        path = files.find([root / file_name, root / "empatheticdialogues" / file_name], what, ROOT_HINT)
        data = files.read_bytes(path)
        notes: Counter[str] = Counter()
        conversations: dict[str, Rows] = {}
        for cells in files.read_table(data, path, COLUMNS, notes, quoted=False):
            row = {column: cell.replace("_comma_", ",") for column, cell in cells.items()}
            name, number = row["conv_id"], row["utterance_idx"]
            if not row["speaker_idx"].isdecimal():  # a literal comma has shifted the cells
                notes["rows_malformed"] += 1
            elif CONVERSATION.fullmatch(name) and NUMBER.fullmatch(number) and row["utterance"]:
                rows = conversations.setdefault(name, {})
                notes["rows_repeated"] += int(number) in rows
                rows.setdefault(int(number), row)
            else:
                notes["rows_incomplete"] += 1
        dialogues = tuple(self._build_dialogue(name, rows, notes) for name, rows in conversations.items())
        digest = hashlib.sha256(data).hexdigest()
        labels = LABEL_SETS[self.label_set]
        corpus = Corpus("empathetic", self.split, labels, dialogues, digest, files.nonzero(notes))
        refuse_mixed_up(corpus, path)
        return corpus

    def _build_dialogue(self, name: str, numbered: Rows, notes: Counter[str]) -> Dialogue:
        rows = sorted(numbered.items())
        contexts = Counter(row["context"] for _, row in rows if row["context"] in EKMAN)
        context = max(contexts, key=contexts.__getitem__, default=None)  # of several, the first in the conversation
        notes["labels_differing"] += contexts.total() - (contexts[context] if context else 0)
        notes["labels_unknown"] += len(rows) - contexts.total()
        notes["labels_missing"] += 0 if context else len(rows)
        emotion = EKMAN[context] if context and self.label_set == "ekman" else context
        return Dialogue(
            id=f"{self.split}_{name}",
            turns=tuple(Turn(SPEAKER if number % 2 else LISTENER, row["utterance"], emotion) for number, row in rows),
            responders=(LISTENER,),
            situation=next((row["prompt"] for _, row in rows if row["prompt"]), None),
            conversation=name,
        )
