"""`mmerg run shard=…` and `mmerg merge` as commands: against the plain run, and what opens the merged folder."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mmerg import merge, score, show
from mmerg.runs.shards import SHARDS
from tests.processes import forked
from tests.run_folders import held

SETTINGS = ("dataset=demo", "backend=dry", "memory=none", "limit=null", "protocol.targets=all", "frames.last_turns=1")
SCORE = ["--resamples", "20"]


def run(runs: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return forked([sys.executable, "-m", "mmerg.run", *SETTINGS, f"runs={runs}", *more])


def folder_of(runs: Path) -> Path:
    [found] = runs.glob("demo-merg-*")
    return found


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the shards of a run lie."""
    runs = tmp_path_factory.mktemp("shards")
    for number in (1, 2, 3):
        done = run(runs, f"shard={number}/3")
        assert done.returncode == 0, done.stderr
        assert f"run: {folder_of(runs)}/shards/0000{number}-of-00003" in done.stdout
    return runs


def test_shards_merged_are_the_plain_run_file_by_file(
    three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path / "plain").returncode == 0
    plain = folder_of(tmp_path / "plain")
    whole = held(plain)
    folder = folder_of(shutil.copytree(three, tmp_path / "parts"))
    assert folder.name == plain.name
    assert show.main([str(folder)]) == 2
    told = capsys.readouterr().err
    assert f"its shards are not merged yet\n  where: {folder}\n  next:  mmerg merge {folder}" in told
    assert merge.main([str(folder)]) == 0
    assert show.main([str(folder)]) == 0
    assert score.main([str(folder), str(plain), *SCORE]) == 0
    shutil.rmtree(folder / SHARDS)
    (folder / "scores.json").unlink()
    assert held(folder) == whole
    assert "19 samples are finished already" in run(tmp_path / "parts").stdout  # the plain command knows it as its own


def test_a_shard_resumes_and_stays_as_it_is(three: Path) -> None:
    results = folder_of(three) / SHARDS / "00001-of-00003" / "results.jsonl"
    before = results.read_bytes()
    assert "are finished already" in run(three, "shard=1/3").stdout
    assert results.read_bytes() == before


def test_limit_counts_over_all_shards_and_a_shard_may_be_empty(tmp_path: Path) -> None:
    for number in range(1, 5):
        assert run(tmp_path, "limit=2", f"shard={number}/4").returncode == 0
    folder = folder_of(tmp_path)
    assert merge.main([str(folder)]) == 2
    assert merge.main([str(folder), "--partial"]) == 1
    assert len((folder / "results.jsonl").read_bytes().splitlines()) == 2


@pytest.mark.parametrize("text", ["0/4", "5/4", "a/b"])
def test_what_is_no_shard_is_refused(text: str, tmp_path: Path) -> None:
    done = run(tmp_path, f"shard={text}")
    assert (done.returncode, "3/64 is the third of 64" in done.stderr) == (2, True)
