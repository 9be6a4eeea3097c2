"""Readers as users write them, each with a fault that its name tells; they take what `dataset=folder` passes on."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.errors import MmergError

LABELS = ("joy", "anger")
TALK = Dialogue("tea", (Turn("Ana", "I failed again.", "anger"), Turn("Ben", "That must hurt.", "joy")))


@dataclass
class Sound:
    """Two turns without a clip."""

    root: str | Path = ""
    labels: Sequence[str] | None = None

    def load(self) -> Any:
        return Corpus("mine", "all", LABELS, (TALK,), "f")


class Doubled(Sound):
    def load(self) -> Any:
        return replace(super().load(), dialogues=(TALK, replace(TALK, id="two"), TALK))


class Mislabelled(Sound):
    def load(self) -> Any:
        turns = (replace(TALK.turns[0], emotion="boredom"), TALK.turns[1])
        return replace(super().load(), dialogues=(replace(TALK, turns=turns),))


class Reads(Protocol):
    def load(self) -> Corpus: ...


def corpus_or_told(reader: Reads) -> Corpus | None:
    """What a reader makes of any bytes: a corpus with dialogues, or none and an error of ours that says what to do."""
    try:
        outcome: Corpus | MmergError = reader.load()
    except MmergError as error:
        outcome = error
    if isinstance(outcome, MmergError):
        assert outcome.hint
        return None
    assert outcome.dialogues
    return outcome


class OddError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Wordless(Sound):
    def load(self) -> Any:
        raise OddError


class Leaving(Sound):
    def load(self) -> Any:
        sys.exit(0)


class LeavingSooner:
    @property
    def load(self) -> Any:
        sys.exit(0)


class Raising(Sound):
    def load(self) -> Any:
        row = {"speaker": "Ana"}
        return self.turn(row)

    def turn(self, row: dict[str, str]) -> Turn:
        return Turn(row["speaker"], row["text"])
