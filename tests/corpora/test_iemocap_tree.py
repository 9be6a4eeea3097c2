"""Where IEMOCAP is looked for: the release's folder or the one around it, strangers in it, and what is missing."""

import os
import shutil
from pathlib import Path

import pytest

from mmerg.corpora.iemocap import Iemocap, dialogue_names
from mmerg.errors import CorpusError

from .iemocap_builder import Builder, improvised, names_of, played

NAMES = ["Ses05F_impro01", "Ses05M_script01_1b"]


def refusal(root: Path, sessions: tuple[int, ...] = (5,)) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        Iemocap(root, sessions).load()
    assert caught.value.hint
    assert caught.value.where
    return caught.value


def test_the_fingerprint_does_not_depend_on_where_the_release_lies(tmp_path: Path) -> None:
    here, there = (Builder().write(tmp_path / name) for name in ("here", "there"))
    assert Iemocap(here).load().fingerprint == Iemocap(there).load().fingerprint


def test_strangers_are_passed_over(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(("name", "complaint"), [("nowhere", "does not exist"), ("file", "is not a folder")])
def test_a_root_that_is_no_folder(tmp_path: Path, name: str, complaint: str) -> None:
    (tmp_path / "file").write_text("x")
    assert complaint in refusal(tmp_path / name).what


def test_a_wrong_root_names_what_was_looked_for_and_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "MELD.Raw").mkdir()
    packed = tmp_path / "IEMOCAP_full_release.tar.gz"
    packed.write_bytes(b"packed")
    error = refusal(tmp_path)
    assert error.hint.startswith(f"unpack {packed}; set dataset.root")
    assert error.what == "no folder Session5 for IEMOCAP"
    assert f"looked in {tmp_path}, {tmp_path}/IEMOCAP_full_release; {tmp_path} holds IEMOCAP" in error.where
    assert error.where.endswith("IEMOCAP_full_release.tar.gz, MELD.Raw/")


def test_a_session_that_is_not_there_is_named_beside_those_that_are(tmp_path: Path) -> None:
    Builder([improvised(), played("Ses02M_script01_1")], release="IEMOCAP_full_release").write(tmp_path)
    error = refusal(tmp_path, (2, 3, 5))
    assert "no folder Session3" in error.what
    assert "IEMOCAP_full_release holds Session2/, Session5/" in error.where
    assert "dataset.sessions" in error.hint


def test_a_text_that_is_a_link_to_nowhere_is_named(tmp_path: Path) -> None:
    base = Builder().write(tmp_path)
    for kind in ("transcriptions", "EmoEvaluation"):
        path = base / f"Session5/dialog/{kind}/Ses05F_impro01.txt"
        path.unlink()
        path.symlink_to(path.name)
    error = refusal(base)
    assert error.what.startswith("cannot read Ses05F_impro01.txt: ")
    assert "transcriptions" in error.where


def test_a_link_to_nowhere_hides_nothing_else_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "Session4").mkdir()
    assert refusal(tmp_path).where.endswith(f"{tmp_path} holds Session4/, loop")


def test_a_session_without_a_turn(tmp_path: Path) -> None:
    base = Builder([improvised()]).write(tmp_path)
    (base / "Session5/dialog/transcriptions/Ses05F_impro01.txt").write_bytes(b"")
    assert refusal(base).what == "no transcription of IEMOCAP's session5 holds a turn"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["", "/Ses05F_impro01.txt"])
def test_what_may_not_be_read_is_our_error(tmp_path: Path, name: str) -> None:
    base = Builder().write(tmp_path)
    path = Path(f"{base}/Session5/dialog/transcriptions{name}")
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        assert "Permission denied" in str(refusal(base))
    finally:
        path.chmod(mode)


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


def test_a_folder_of_strangers_alone(tmp_path: Path) -> None:
    base = Builder().write(tmp_path)
    path = base / "Session5/dialog/EmoEvaluation"
    shutil.rmtree(path)
    path.mkdir()
    (path / "._Ses05F_impro01.txt").write_bytes(b"")
    (path / "Ses04F_impro01.txt").write_bytes(b"")
    error = refusal(base)
    assert error.what == "Session5 has no dialogue in dialog/EmoEvaluation"
    assert "Ses05….txt" in error.where
    assert "holds Ses04F_impro01.txt" in error.where


@pytest.mark.parametrize("kind", ["EmoEvaluation", "transcriptions"])
def test_a_dialogue_with_one_of_its_files_is_refused(tmp_path: Path, kind: str) -> None:
    gone = f"dialog/{kind}/Ses05M_script01_1b.txt"
    error = refusal(Builder(without=frozenset({gone})).write(tmp_path))
    assert error.what == "cannot read Ses05M_script01_1b.txt: No such file or directory"
    assert error.where == str(tmp_path / "Session5" / gone)


def test_a_dialogue_whose_evaluation_is_empty_has_no_labels_and_is_counted(tmp_path: Path) -> None:
    base = Builder([improvised(), improvised("Ses05F_impro02")]).write(tmp_path)
    (base / "Session5/dialog/EmoEvaluation/Ses05F_impro02.txt").write_bytes(b"")
    corpus = Iemocap(base, clips=False).load()
    assert {turn.emotion for turn in corpus.dialogues[1].turns} == {None}
    assert corpus.notes == {"labels_missing": 5, "labels_xxx": 1}
