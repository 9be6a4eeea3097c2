"""The conversation of a dialogue: one name in all splits, variants and roots of the data, another for other data."""

from dataclasses import replace
from pathlib import Path

import pytest

from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.folder import EXAMPLE, Folder
from mmerg.corpora.meld import Meld

from . import meld_builder


def conversations(corpus: Corpus) -> list[str | None]:
    return [dialogue.conversation for dialogue in corpus.dialogues]


def test_dyads_are_of_the_dialogue_that_they_were_cut_from(tmp_path: Path) -> None:
    meld_builder.Builder().write(tmp_path)
    meld_builder.Builder(variant="dyadic", lines=meld_builder.two_dyads()).write(tmp_path)
    assert conversations(Meld(tmp_path, clips=False).load()) == ["meld/test/dia0", "meld/test/dia2", "meld/test/dia3"]
    assert conversations(Meld(tmp_path, variant="dyadic", clips=False).load()) == ["meld/test/dia0", "meld/test/dia0"]


@pytest.mark.parametrize(
    ("first", "second", "conversation"),
    [((7, 0), (8, 0), "meld/test/dia7"), (("x", 0), (8, 0), "meld/test/dia8"), (("", 0), ("", 1), None)],
)
def test_a_dyad_of_several_dialogues_counts_as_of_the_first_that_is_named(
    tmp_path: Path, first: tuple[int | str, int], second: tuple[int | str, int], conversation: str | None
) -> None:
    lines = [replace(line, old=old) for line, old in zip(meld_builder.two_dyads(), (first, second), strict=False)]
    meld_builder.Builder(variant="dyadic", lines=lines).write(tmp_path)
    assert conversations(Meld(tmp_path, variant="dyadic", clips=False).load()) == [conversation]


def test_a_folders_dialogue_is_that_of_its_lines_wherever_the_folder_lies(tmp_path: Path) -> None:
    texts = {"mine": EXAMPLE, "moved": EXAMPLE, "other": EXAMPLE.replace("failed", "won")}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "dialogues.jsonl").write_text(text)
    mine, moved, other = (conversations(Folder(tmp_path / name).load()) for name in texts)
    assert mine == moved
    assert mine != other
