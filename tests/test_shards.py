"""`mmerg run shard=…` and `mmerg merge` as commands: against the plain run, and what opens the merged folder."""

import shutil
import sys
from pathlib import Path

import pytest

from mmerg import merge, report, run, score, show
from mmerg.runs.shards import SHARDS
from tests.run_folders import held

SETTINGS = ("dataset=demo", "backend=dry", "memory=none", "limit=null", "protocol.targets=all", "frames.last_turns=1")


def started(monkeypatch: pytest.MonkeyPatch, runs: Path, *more: str) -> int:
    monkeypatch.setattr(sys, "argv", ["mmerg run", *SETTINGS, f"runs={runs}", *more])
    return run.main()


def folder_of(runs: Path) -> Path:
    [found] = runs.glob("demo-merg-*")
    return found


def sharded(monkeypatch: pytest.MonkeyPatch, runs: Path, of_all: int = 3) -> Path:
    for number in range(1, of_all + 1):
        assert started(monkeypatch, runs, f"shard={number}/{of_all}") == 0
    return folder_of(runs)


def test_shards_merged_are_the_plain_run_file_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert started(monkeypatch, tmp_path / "plain") == 0
    whole = held(folder_of(tmp_path / "plain"))
    folder = sharded(monkeypatch, tmp_path / "parts")
    assert folder.name == folder_of(tmp_path / "plain").name
    assert f"run: {folder}/shards/00003-of-00003" in capsys.readouterr().out
    assert merge.main([str(folder)]) == 0
    for command in (score.main, show.main, report.main):
        assert command([str(folder)]) == 0
    assert score.main([str(folder), str(folder_of(tmp_path / "plain"))]) == 0
    shutil.rmtree(folder / SHARDS)
    for left in ("scores.json", "report"):
        path = folder / left
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert held(folder) == whole
    capsys.readouterr()
    assert started(monkeypatch, tmp_path / "parts") == 0  # the plain command knows it as its own
    assert "19 samples are finished already" in capsys.readouterr().out


def test_a_shard_resumes_and_its_neighbours_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = sharded(monkeypatch, tmp_path)
    before = (folder / SHARDS / "00001-of-00003" / "results.jsonl").read_bytes()
    capsys.readouterr()
    assert started(monkeypatch, tmp_path, "shard=1/3") == 0
    assert "are finished already" in capsys.readouterr().out
    assert (folder / SHARDS / "00001-of-00003" / "results.jsonl").read_bytes() == before


def test_limit_counts_over_all_shards_and_a_shard_may_be_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 10):
        assert started(monkeypatch, tmp_path, "limit=4", f"shard={number}/9") == 0
    folder = folder_of(tmp_path)
    assert merge.main([str(folder)]) == 2
    assert merge.main([str(folder), "--partial"]) == 1
    assert len((folder / "results.jsonl").read_bytes().splitlines()) == 4


@pytest.mark.parametrize("text", ["0/4", "5/4", "3", "3/", "-1/4", "a/b", "1/4/2"])
def test_what_is_no_shard_is_refused(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert started(monkeypatch, tmp_path, f"shard={text}") == 2
    assert "3/64 is the third of 64" in capsys.readouterr().err


def test_before_the_merge_commands_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = sharded(monkeypatch, tmp_path, of_all=1)
    assert show.main([str(folder)]) == 2
    assert f"its shards are not merged yet\n  where: {folder}\n  next:  mmerg merge {folder}" in capsys.readouterr().err
