"""Refuse a split's file that is another split's under a wrong name: a memory that holds the test split would leak it.

Found by content: the same bytes as another split's file beside it, or exactly the counts that are published for another
split. A copy that is neither is taken as it is.

    refuse_mixed_up(dev_csv, data, {"test": test_csv}, held)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmerg.corpora.files import read_bytes
from mmerg.corpora.official import expected
from mmerg.errors import CorpusError


@dataclass(frozen=True)
class Held:
    """What a file was read as, and what was found in it."""

    name: str
    split: str
    dialogues: int
    turns: int


def refuse_mixed_up(path: Path, data: bytes, others: Mapping[str, Path], held: Held, splits: Sequence[str]) -> None:
    """Raises CorpusError where `data`, read from `path`, is the content of another split. `others`: their files, by
    split, which are there; `splits`: those of the corpus."""
    for split, other in others.items():
        if other.stat().st_size == len(data) and read_bytes(other) == data:
            raise CorpusError(
                f"{path.name} and {other.name} are the same file: one of them is not its split",
                where=f"{path}; {other}",
                hint=f"take both as published. {_published(held.name, (held.split, split))}",
            )
    for split in splits:
        figures = expected(held.name, split)
        if split != held.split and figures and (figures.dialogues, figures.turns) == (held.dialogues, held.turns):
            raise CorpusError(
                f"{path.name} holds the {split} split: {held.turns} turns in {held.dialogues} dialogues",
                where=str(path),
                hint=f"name it as published, or set dataset.split={split}. {_published(held.name, (held.split,))}",
            )


def _published(name: str, splits: Sequence[str]) -> str:
    figures = [(split, expected(name, split)) for split in splits]
    told = [f"{split} has {known.turns} turns in {known.dialogues} dialogues" for split, known in figures if known]
    return "; ".join(told)
