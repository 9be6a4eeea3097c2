"""Missing clips are named by the file that was looked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mmerg.checking.missing import Missing, missing_clips
from mmerg.corpora.folder import Folder
from mmerg.corpora.meld import Meld
from mmerg.dialogue import Clip, Corpus, Dialogue, Turn
from tests.checking.trees import folder, turn
from tests.corpora.meld_builder import Builder, Line

REAL = Path(__file__).parents[2] / "../shared/data/meld"


def missing(reader: Meld | Folder) -> list[Missing]:
    return missing_clips(reader, reader.load())


def test_meld_by_utterance_in_spite_of_gaps_and_bad_rows(tmp_path: Path) -> None:
    lines = [
        Line("Hey!", "Joey", "joy", 7, 4),
        Line("What?", "Ross", "anger", 7, 9),
        Line("", "Ross", "anger", 7, 10),
        Line("Sorry.", "Joey", "joy", "x", 1),
        Line("First in the file's order.", "Joey", "joy", 2, 0),
    ]
    Builder(lines=lines, without_clips=frozenset({(7, 9), (2, 0)})).write(tmp_path)
    assert missing(Meld(tmp_path)) == [
        Missing("dia2_utt0.mp4", "test_dia2/1"),
        Missing("dia7_utt9.mp4", "test_dia7/2"),
    ]
    assert missing(Meld(tmp_path, clips=False)) == []


def test_nothing_is_missing(tmp_path: Path) -> None:
    Builder().write(tmp_path)
    assert missing(Meld(tmp_path)) == []


def test_a_folder_by_the_path_that_is_written(tmp_path: Path) -> None:
    (tmp_path / "here.mp4").write_bytes(b"x")
    folder(
        tmp_path,
        {"id": "a", "turns": [turn("here.mp4"), turn(), turn("sub/gone.mp4")]},
        {"id": "b", "turns": [turn("away.mp4"), turn(None, "Ben")]},
    )
    assert missing(Folder(tmp_path)) == [Missing("sub/gone.mp4", "a/3"), Missing("away.mp4", "b/1")]


def corpus(notes: dict[str, int], *clips: Clip | None) -> Corpus:
    turns = tuple(Turn("Ana", "One.", clip=clip) for clip in clips)
    return Corpus("mine", "all", (), (Dialogue("d", turns),), "0", notes)


@pytest.mark.parametrize(("count", "named"), [(1, [Missing("", "d/2")]), (2, [])])
def test_another_reader_by_turn_where_every_turn_should_have_one(count: int, named: list[Missing]) -> None:
    there = Clip(Path("there.mp4"))
    assert missing_clips(object(), corpus({"clips_missing": count}, there, None)) == named


def test_a_file_that_changed_since_it_was_read_names_nothing(tmp_path: Path) -> None:
    Builder(without_clips=frozenset({(0, 1)})).write(tmp_path)
    read = Meld(tmp_path).load()
    fewer = replace(read, dialogues=read.dialogues[1:])
    assert missing_clips(Meld(tmp_path), fewer) == []


def test_the_real_test_split_without_clips() -> None:
    if not REAL.is_dir():
        pytest.skip("MELD's csv files are not here")
    found = missing(Meld(REAL, "test"))
    assert len(found) == 2610
    # Dialogue 93 has none between utterances 4 and 8.
    names = [one.clip for one in found if one.turn.startswith("test_dia93/")]
    assert names[4:6] == ["dia93_utt4.mp4", "dia93_utt8.mp4"]
