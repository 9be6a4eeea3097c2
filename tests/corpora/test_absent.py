"""`Corpus.absent` lists the missing clips: the file that was looked for, by turn."""

from pathlib import Path
from typing import Literal
from unicodedata import normalize

import pytest

from mmerg.corpora.folder import Folder
from mmerg.corpora.iemocap import Iemocap
from mmerg.corpora.meld import Meld
from tests.checking.trees import folder, turn
from tests.corpora import iemocap_builder
from tests.corpora.meld_builder import Builder, Line


def test_meld_lists_files_by_utterance_despite_gaps_and_bad_rows(tmp_path: Path) -> None:
    lines = [
        Line("Hey!", "Joey", "joy", 7, 4),
        Line("What?", "Ross", "anger", 7, 9),
        Line("", "Ross", "anger", 7, 10),
        Line("Sorry.", "Joey", "joy", "x", 1),
        Line("First in the file's order.", "Joey", "joy", 2, 0),
    ]
    Builder(lines=lines, without_clips=frozenset({(7, 9), (2, 0)})).write(tmp_path)
    corpus = Meld(tmp_path).load()
    assert corpus.absent == {"test_dia2/1": "dia2_utt0.mp4", "test_dia7/2": "dia7_utt9.mp4"}
    assert corpus.notes["clips_missing"] == 2
    assert Meld(tmp_path, clips=False).load().absent == {}


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("name", ["café/fiancé.mp4", "café\\fiancé.mp4"])
def test_a_clip_is_found_whichever_unicode_form_its_name_has(
    tmp_path: Path, form: Literal["NFC", "NFD"], name: str
) -> None:
    file = tmp_path / normalize(form, "café") / normalize("NFC" if form == "NFD" else "NFD", "fiancé.mp4")
    file.parent.mkdir()
    file.write_bytes(b"x")
    folder(tmp_path, {"id": "a", "turns": [turn(name), turn(None, "Ben")]})
    [dialogue] = Folder(tmp_path).load().dialogues
    assert dialogue.turns[0].clip
    assert dialogue.turns[0].clip.path == file


def test_a_folder_lists_files_by_their_path_in_the_data(tmp_path: Path) -> None:
    (tmp_path / "here.mp4").write_bytes(b"x")
    folder(
        tmp_path,
        {"id": "a", "turns": [turn("here.mp4"), turn(), turn("sub/gone.mp4")]},
        {"id": "b", "turns": [turn("away.mp4"), turn(None, "Ben")]},
    )
    corpus = Folder(tmp_path).load()
    assert corpus.absent == {"a/3": "sub/gone.mp4", "b/1": "away.mp4"}
    assert corpus.notes == {"clips_missing": 2}


def test_iemocap_lists_the_video_of_the_dialogue_but_no_turn_without_a_span(tmp_path: Path) -> None:
    film = "dialog/avi/DivX/Ses05M_script01_1b.avi"
    root = iemocap_builder.Builder(without=frozenset({film})).write(tmp_path)
    missing = dict.fromkeys(("Ses05M_script01_1b/1", "Ses05M_script01_1b/2"), f"Session5/{film}")
    assert Iemocap(root).load().absent == missing
    assert Iemocap(root, clips=False).load().absent == {}
    recording = iemocap_builder.Recording(
        "Ses05F_impro01", [iemocap_builder.Utterance("F", 3, 2), iemocap_builder.Utterance("M", 4, 5)]
    )
    reversed_span = Iemocap(iemocap_builder.Builder([recording]).write(tmp_path / "other")).load()
    assert [turn.clip is None for turn in reversed_span.dialogues[0].turns] == [True, False]
    assert reversed_span.absent == {}
