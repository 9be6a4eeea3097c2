"""The names of the clips that a corpus speaks of and that are not there.

A reader counts them (`notes["clips_missing"]`) and gives their turns without a clip; which file it looked for is told
by the layout. Where the layout is not known here, the turn is named. Opens no clip.

    missing_clips(Meld("~/data/MELD", "dev"), corpus)    # [Missing("dia110_utt7.mp4", "dev_dia110/8")]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mmerg.corpora.files import read_bytes, read_table, root_folder
from mmerg.corpora.folder import DialogueLine, Folder
from mmerg.corpora.iemocap import Iemocap
from mmerg.corpora.meld import COLUMNS, NUMBER, OLD_COLUMNS, Meld
from mmerg.corpora.meld_csv import ROOT_HINT, find_csv
from mmerg.dialogue import Corpus


@dataclass(frozen=True)
class Missing:
    """A clip that is not there, and the turn it belongs to (`dialogue/number`, from 1). clip: its file's name, empty
    where only the turn is known."""

    clip: str
    turn: str


def missing_clips(reader: object, corpus: Corpus) -> list[Missing]:
    """The missing clips, in the corpus's order; none where none are missing, or their turns cannot be told."""
    count = corpus.notes.get("clips_missing", 0)
    if not count:
        return []
    without = [
        (turn.clip is None, f"{dialogue.id}/{number}")
        for dialogue in corpus.dialogues
        for number, turn in enumerate(dialogue.turns, start=1)
    ]
    if isinstance(reader, Meld):
        names: list[str | None] = list(_of_meld(reader))
    elif isinstance(reader, Folder):
        names = list(_of_folder(reader))
    elif isinstance(reader, Iemocap):
        names = list(_of_iemocap(corpus))
    else:
        names = [""] * len(without)
    if len(names) != len(without):  # the file was changed since it was read
        return []
    found = [
        Missing(name, turn) for (gone, turn), name in zip(without, names, strict=True) if gone and name is not None
    ]
    return found if len(found) == count else []


def _of_meld(reader: Meld) -> Iterator[str]:
    """The clip's name for each turn; empty where the row does not name one."""
    dyadic = reader.variant == "dyadic"
    named = OLD_COLUMNS if dyadic else ("Dialogue_ID", "Utterance_ID")
    path = find_csv(root_folder(reader.root, ROOT_HINT), reader.split, reader.variant)
    names: dict[tuple[int, int], str] = {}
    for row in read_table(path, COLUMNS).rows:
        ids = [row.cells[column] for column in ("Dialogue_ID", "Utterance_ID")]
        if all(map(NUMBER.fullmatch, ids)) and row.cells["Speaker"] and row.cells["Utterance"]:
            clip = [row.cells[column] for column in named]
            known = all(map(NUMBER.fullmatch, clip))
            names[int(ids[0]), int(ids[1])] = f"dia{int(clip[0])}_utt{int(clip[1])}.mp4" if known else ""
    for _, name in sorted(names.items()):
        yield name


def _of_folder(reader: Folder) -> Iterator[str | None]:
    """The clip's path in the folder for each turn, None where the turn has none."""
    data = read_bytes(Path(root_folder(reader.root, "")) / reader.file).removeprefix(b"\xef\xbb\xbf")
    for raw in data.split(b"\n"):
        if raw.strip():
            yield from (turn.clip for turn in DialogueLine.model_validate_json(raw).turns)


def _of_iemocap(corpus: Corpus) -> Iterator[str | None]:
    """The film of each turn's dialogue, None where it is there: a turn of it without a clip has no span."""
    for dialogue in corpus.dialogues:
        filmed = any(turn.clip for turn in dialogue.turns)
        yield from [None if filmed else f"{dialogue.id}.avi"] * len(dialogue.turns)
