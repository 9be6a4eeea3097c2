"""The folders of IEMOCAP: the release or its parent folder, stray files, and missing parts."""

from pathlib import Path

import pytest

from mmerg.corpora.iemocap import Iemocap, list_dialogues
from mmerg.errors import CorpusError

from .iemocap_builder import Builder, improvised, name_dialogues

NAMES = ["Ses05F_impro01", "Ses05M_script01_1b"]


def refusal(root: Path, sessions: tuple[int, ...] = (5,)) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        Iemocap(root, sessions).load()
    assert caught.value.hint
    assert caught.value.where
    return caught.value


def test_other_files_are_ignored(tmp_path: Path) -> None:
    plain = Iemocap(Builder().write(tmp_path / "plain"), clips=False).load()
    base = Builder(stray_files=True).write(tmp_path / "stray")
    assert Iemocap(base, clips=False).load() == plain
    assert len(list((base / "Session5/dialog/transcriptions").iterdir())) > 2 * len(NAMES)


def test_every_kind_of_dialogue_is_found(tmp_path: Path) -> None:
    names = ["Ses05F_impro05a", "Ses05F_script03_2", "Ses05M_impro08b", "Ses05M_script01_1b", *name_dialogues(5)]
    base = Builder([improvised(name) for name in names]).write(tmp_path)
    assert list_dialogues(base / "Session5") == sorted({*names})
    scripts = {dialogue.script for dialogue in Iemocap(base).load().dialogues}
    assert scripts == {None, "script01", "script02", "script03"}


def test_the_error_of_a_wrong_root_lists_the_searched_folders(tmp_path: Path) -> None:
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
def test_the_error_of_a_partly_unpacked_archive_names_the_missing_folder(
    tmp_path: Path, without: str, kind: str, nearest: str
) -> None:
    error = refusal(Builder(without=frozenset({without})).write(tmp_path))
    assert error.what == f"Session5 has no dialogue in dialog/{kind}"
    assert nearest in error.where
    assert "unpack dialog/" in error.hint


@pytest.mark.parametrize("kind", ["EmoEvaluation", "transcriptions"])
def test_a_dialogue_without_one_of_its_files_is_refused(tmp_path: Path, kind: str) -> None:
    missing = f"dialog/{kind}/Ses05M_script01_1b.txt"
    error = refusal(Builder(without=frozenset({missing})).write(tmp_path))
    assert error.what == "cannot read Ses05M_script01_1b.txt: No such file or directory"
    assert error.where == str(tmp_path / "Session5" / missing)
