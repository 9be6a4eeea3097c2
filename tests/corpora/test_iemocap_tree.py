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


@pytest.mark.parametrize("release", ["", "IEMOCAP_full_release"])
def test_the_root_is_the_release_or_the_folder_around_it(tmp_path: Path, release: str) -> None:
    base = Builder(release=release).write(tmp_path)
    corpus = Iemocap(str(tmp_path)).load()
    assert [dialogue.id for dialogue in corpus.dialogues] == NAMES
    assert corpus == Iemocap(base).load()


def test_the_fingerprint_does_not_depend_on_where_the_release_lies(tmp_path: Path) -> None:
    here, there = (Builder().write(tmp_path / name) for name in ("here", "there"))
    assert Iemocap(here).load().fingerprint == Iemocap(there).load().fingerprint


def test_strangers_are_passed_over(tmp_path: Path) -> None:
    plain = Iemocap(Builder().write(tmp_path / "plain"), clips=False).load()
    base = Builder(strangers=True).write(tmp_path / "strangers")
    assert Iemocap(base, clips=False).load() == plain
    assert len(list((base / "Session5/dialog/transcriptions").iterdir())) > 2 * len(NAMES)


def test_nothing_but_text_and_video_is_needed(tmp_path: Path) -> None:
    rest = ["dialog/wav", "dialog/lab", "dialog/MOCAP_hand", "sentences", "dialog/EmoEvaluation/Attribute"]
    without = Iemocap(Builder(without=frozenset(rest)).write(tmp_path / "less")).load()
    assert without.notes == {"labels_xxx": 1}
    assert not (tmp_path / "less/Session5/sentences").exists()


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
    error = refusal(tmp_path)
    assert error.what == "no folder Session5 for IEMOCAP's session 5"
    assert f"looked for {tmp_path}/Session5 and {tmp_path}/IEMOCAP_full_release/Session5" in error.where
    assert f"{tmp_path} holds MELD.Raw/" in error.where
    assert "dataset.root" in error.hint


def test_a_root_inside_the_release(tmp_path: Path) -> None:
    base = Builder().write(tmp_path)
    assert "Session5 holds dialog/, sentences/" in refusal(base / "Session5").where


def test_a_session_that_is_not_there_is_named_beside_those_that_are(tmp_path: Path) -> None:
    Builder([improvised(), played("Ses02M_script01_1")], release="IEMOCAP_full_release").write(tmp_path)
    error = refusal(tmp_path, (2, 3, 5))
    assert "session 3" in error.what
    assert "IEMOCAP_full_release holds Session2/, Session5/" in error.where
    assert "dataset.sessions" in error.hint


@pytest.mark.parametrize(
    ("without", "complaint", "found"),
    [
        ("dialog", "Session5 has no dialog/transcriptions", "Session5 holds sentences/"),
        ("dialog/transcriptions", "Session5 has no dialog/transcriptions", "dialog holds EmoEvaluation/, MOCAP_hand/"),
        ("dialog/EmoEvaluation", "Session5 has no dialog/EmoEvaluation", "dialog holds MOCAP_hand/, avi/"),
    ],
)
def test_an_archive_unpacked_in_part_names_the_folder(tmp_path: Path, without: str, complaint: str, found: str) -> None:
    error = refusal(Builder(without=frozenset({without})).write(tmp_path))
    assert error.what == complaint
    assert found in error.where
    assert "unpack dialog/" in error.hint


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


def test_an_empty_session(tmp_path: Path) -> None:
    (tmp_path / "Session5").mkdir()
    assert f"{tmp_path}/Session5 holds nothing" in refusal(tmp_path).where


@pytest.mark.parametrize("folder", ["transcriptions", "EmoEvaluation"])
def test_a_folder_of_strangers_alone(tmp_path: Path, folder: str) -> None:
    base = Builder().write(tmp_path)
    path = base / "Session5/dialog" / folder
    shutil.rmtree(path)
    path.mkdir()
    (path / "._Ses05F_impro01.txt").write_bytes(b"")
    (path / "Ses04F_impro01.txt").write_bytes(b"")
    error = refusal(base)
    assert error.what == f"Session5 has no dialogue in dialog/{folder}"
    assert "Ses05….txt" in error.where
    assert "holds Ses04F_impro01.txt" in error.where


@pytest.mark.parametrize(
    ("gone", "complaint"),
    [
        (
            "dialog/EmoEvaluation/Ses05M_script01_1b.txt",
            "Session5 is not whole: dialog/EmoEvaluation lacks Ses05M_script01_1b",
        ),
        (
            "dialog/transcriptions/Ses05F_impro01.txt",
            "Session5 is not whole: dialog/transcriptions lacks Ses05F_impro01",
        ),
    ],
)
def test_a_dialogue_with_one_of_its_files_is_refused(tmp_path: Path, gone: str, complaint: str) -> None:
    assert refusal(Builder(without=frozenset({gone})).write(tmp_path)).what == complaint


@pytest.mark.parametrize("left", [b"", b"% [START_TIME - END_TIME] TURN_NAME EMOTION [V, A, D]\n", b"[6.2901 - 8.23"])
def test_evaluations_of_which_nothing_is_left_are_refused_by_name(tmp_path: Path, left: bytes) -> None:
    base = Builder([improvised(), improvised("Ses05F_impro02"), improvised("Ses05F_impro03")]).write(tmp_path)
    for number in (1, 3):
        (base / f"Session5/dialog/EmoEvaluation/Ses05F_impro0{number}.txt").write_bytes(left)
    error = refusal(base)
    assert error.what == (
        "Session5 is not whole: dialog/EmoEvaluation holds no evaluation in the files of Ses05F_impro01, Ses05F_impro03"
    )
    assert error.where == str(base / "Session5")


def test_many_missing_files_are_named_in_part(tmp_path: Path) -> None:
    talks = [improvised(f"Ses05F_impro{n:02d}") for n in range(1, 9)]
    gone = frozenset(f"dialog/EmoEvaluation/{talk.name}.txt" for talk in talks[1:])
    error = refusal(Builder(talks, without=gone).write(tmp_path))
    assert error.what.endswith(
        "lacks Ses05F_impro02, Ses05F_impro03, Ses05F_impro04, Ses05F_impro05, Ses05F_impro06 and 2 more"
    )


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
        assert "Permission denied" in refusal(base).what
    finally:
        path.chmod(mode)
