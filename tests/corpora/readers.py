"""Readers as users write them, with the arguments of `dataset=folder`. Their names say what is wrong with them."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.corpora.folder import Folder
from mmerg.corpora.meld import Meld
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


def load_or_refuse(reader: Folder | Meld) -> Corpus | None:
    """Returns a corpus, or None if the reader raises an error of mmerg that has a hint."""
    try:
        corpus = reader.load()
    except MmergError as error:
        assert error.hint  # noqa: PT017 - one example is enough to fail
        return None
    return corpus


class Exiting(Sound):
    def load(self) -> Any:
        sys.exit(0)


class Raising(Sound):
    def load(self) -> Any:
        row = {"speaker": "Ana"}
        return self.turn(row)

    def turn(self, row: dict[str, str]) -> Turn:
        return Turn(row["speaker"], row["text"])
