"""MELD's clips in every common layout, among files that are not clips."""

from pathlib import Path

import pytest

from mmerg.corpora.dialogue import Clip, Turn
from mmerg.corpora.meld import Meld, Split
from mmerg.corpora.protocols import select
from tests.configs import build_protocol

from .meld_builder import RELEASE_FOLDERS, Builder, Line

LAYOUTS = [
    *((split, f"MELD.Raw/{release}") for split, release in RELEASE_FOLDERS.items()),
    *(("test", folder) for folder in ("output_repeated_splits_test", "test", "MELD.Raw/test")),
]


def clips(turns: tuple[Turn, ...]) -> list[str | None]:
    return [turn.clip.path.name if turn.clip else None for turn in turns]


@pytest.mark.parametrize(("split", "folder"), LAYOUTS)
def test_clips_are_found_in_every_layout(tmp_path: Path, split: Split, folder: str) -> None:
    Builder(split=split, clip_folder=folder).write(tmp_path)
    corpus = Meld(tmp_path, split).load()
    assert corpus.dialogues[0].turns[1].clip == Clip(tmp_path / folder / "dia0_utt1.mp4")
    assert all(turn.clip and turn.clip.path.is_file() for dialogue in corpus.dialogues for turn in dialogue.turns)
    assert corpus.notes == {}


def test_files_beside_the_clips_are_ignored(tmp_path: Path) -> None:
    Builder(stray_files=True).write(tmp_path)
    corpus = Meld(tmp_path).load()
    assert clips(corpus.dialogues[0].turns) == ["dia0_utt0.mp4", "dia0_utt1.mp4", "dia0_utt2.mp4"]
    assert clips(corpus.dialogues[1].turns) == [None]  # a folder has the name of the clip
    assert corpus.notes == {"clips_missing": 1}


@pytest.mark.parametrize("times", ["00:14:38,127", "unreadable"])
def test_a_link_to_the_file_of_the_target_is_not_shown(tmp_path: Path, times: str) -> None:
    starts = (times, "00:14:40,629", "00:14:56,000")
    lines = [Line("Words.", "Mark", "joy", 0, number, start, "00:14:57,000") for number, start in enumerate(starts)]
    Builder(lines=lines, clip_folder="test").write(tmp_path)
    (tmp_path / "test/dia0_utt0.mp4").unlink()
    (tmp_path / "test/dia0_utt0.mp4").symlink_to(tmp_path / "test/dia0_utt2.mp4")
    [sample] = select(Meld(tmp_path).load(), build_protocol()).samples
    assert clips(sample.scene.history) == [None, "dia0_utt1.mp4"]
    assert sample.dropped == (1,)


def test_clips_of_another_split_are_not_used(tmp_path: Path) -> None:
    Builder(split="dev", newline="\n").write(
        tmp_path
    )  # other line endings, as two splits with the same bytes are refused
    Builder(split="test", without_clips=frozenset({(0, 0)})).write(tmp_path)
    assert clips(Meld(tmp_path, "test").load().dialogues[0].turns)[0] is None
    assert clips(Meld(tmp_path, "dev").load().dialogues[0].turns)[0] == "dia0_utt0.mp4"
