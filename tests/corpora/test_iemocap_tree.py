"""Where IEMOCAP is looked for: the release's folder or the one around it, strangers in it, and what is missing."""

from pathlib import Path

import pytest

from mmerg.corpora.iemocap import Iemocap, dialogue_names
from mmerg.errors import CorpusError

from .iemocap_builder import Builder, improvised, names_of

NAMES = ["Ses05F_impro01", "Ses05M_script01_1b"]


def refusal(root: Path, sessions: tuple[int, ...] = (5,)) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        Iemocap(root, sessions).load()
    assert caught.value.hint
    assert caught.value.where
    return caught.value


def test_other_files_are_ignored(tmp_path: Path) -> None:
    plain = Iemocap(Builder().write(tmp_path / "plain"), clips=False).load()
    base = Builder(strangers=True).write(tmp_path / "strangers")
    assert Iemocap(base, clips=False).load() == plain
    assert len(list((base / "Session5/dialog/transcriptions").iterdir())) > 2 * len(NAMES)


def test_the_names_of_every_kind_of_dialogue(tmp_path: Path) -> None:
    kinds = ["Ses05F_impro05a", "Ses05F_script03_2", "Ses05M_impro08b", "Ses05M_script01_1b", *names_of(5)]
    base = Builder([improvised(name) for name in kinds]).write(tmp_path)
    assert dialogue_names(base / "Session5") == sorted({*kinds})
    scripts = {dialogue.script for dialogue in Iemocap(base).load().dialogues}
    assert scripts == {None, "script01", "script02", "script03"}


def test_a_wrong_root_names_what_was_looked_for_and_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "MELD.Raw").mkdir()
    packed = tmp_path / "IEMOCAP_full_release.tar.gz"
    packed.write_bytes(b"packed")
    error = refusal(tmp_path)
    assert error.hint.startswith(f"unpack {packed}; set dataset.root")
    assert error.what == "no folder Session5 for IEMOCAP"
    assert f"looked in {tmp_path}, {tmp_path}/IEMOCAP_full_release; {tmp_path} holds IEMOCAP" in error.where
    assert error.where.endswith("IEMOCAP_full_release.tar.gz, MELD.Raw/")


@pytest.mark.parametrize(
    ("without", "kind", "nearest"),
    [
        ("dialog", "transcriptions", "Session5 holds sentences/"),
        ("dialog/transcriptions", "transcriptions", "dialog holds EmoEvaluation/, MOCAP_hand/"),
        ("dialog/EmoEvaluation", "EmoEvaluation", "dialog holds MOCAP_hand/, avi/"),
    ],
)
def test_an_archive_unpacked_in_part_names_the_folder(tmp_path: Path, without: str, kind: str, nearest: str) -> None:
    error = refusal(Builder(without=frozenset({without})).write(tmp_path))
    assert error.what == f"Session5 has no dialogue in dialog/{kind}"
    assert nearest in error.where
    assert "unpack dialog/" in error.hint


@pytest.mark.parametrize("kind", ["EmoEvaluation", "transcriptions"])
def test_a_dialogue_with_one_of_its_files_is_refused(tmp_path: Path, kind: str) -> None:
    gone = f"dialog/{kind}/Ses05M_script01_1b.txt"
    error = refusal(Builder(without=frozenset({gone})).write(tmp_path))
    assert error.what == "cannot read Ses05M_script01_1b.txt: No such file or directory"
    assert error.where == str(tmp_path / "Session5" / gone)
