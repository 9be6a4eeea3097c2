"""`mmerg run shard=…` and `mmerg merge`: the merged folder equals that of a plain run."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from mmerg import merge, score, show
from mmerg.backends.cache import COMPLETIONS_FILE
from mmerg.errors import ConfigError
from mmerg.experiment.launch import launch
from mmerg.runs.result import RunOutcome
from mmerg.runs.samples import SAMPLES
from mmerg.runs.shards import SHARDS
from tests.configs import parse_settings
from tests.run_folders import read_contents

SETTINGS = ("dataset=demo", "backend=dry", "memory=none", "limit=null", "protocol.targets=all", "frames.last_turns=1")
SCORE = ["--resamples", "20"]


Run: TypeAlias = Callable[..., RunOutcome]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Does what `mmerg run` does. All runs share a cache of keyframes."""
    cache = tmp_path_factory.mktemp("cache")

    def run(runs: Path, *more: str) -> RunOutcome:
        ended = launch(parse_settings(*SETTINGS, f"cache_dir={cache}", f"runs={runs}", *more))
        assert ended.code == 0
        return ended

    return run


def folder_of(runs: Path) -> Path:
    [run] = runs.glob("demo-merg-*")
    return run


@pytest.fixture(scope="module")
def three(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three shards of a run."""
    runs = tmp_path_factory.mktemp("shards")
    for number in (1, 2, 3):
        ended = run(runs, f"shard={number}/3")
        assert ended.run == f"{folder_of(runs)}/shards/0000{number}-of-00003"
    return runs


def test_merged_shards_equal_the_plain_run_file_by_file(
    run: Run, three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "plain")
    plain = folder_of(tmp_path / "plain")
    whole = read_contents(plain)
    folder = folder_of(shutil.copytree(three, tmp_path / "parts"))
    assert folder.name == plain.name
    assert show.main([str(folder)]) == 2
    error = capsys.readouterr().err
    assert f"its shards are not merged yet\n  where: {folder}\n  next:  merge them: mmerg merge {folder}" in error
    assert merge.main([str(folder)]) == 0
    assert show.main([str(folder)]) == 0
    assert score.main([str(folder), str(plain), *SCORE]) == 0
    shutil.rmtree(folder / SHARDS)
    (folder / "scores.json").unlink()
    assert read_contents(folder) == whole
    capsys.readouterr()
    run(tmp_path / "parts")  # the plain command knows it as its own
    assert "19 samples are already finished" in capsys.readouterr().out


def test_a_finished_shard_stays_unchanged(run: Run, three: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = folder_of(three) / SHARDS / "00001-of-00003" / "results.jsonl"
    before = results.read_bytes()
    run(three, "shard=1/3")
    assert "are already finished" in capsys.readouterr().out
    assert results.read_bytes() == before


def test_a_shard_keeps_its_completions_in_its_own_folder(run: Run, tmp_path: Path) -> None:
    first = run(tmp_path, "shard=1/3")
    assert (Path(first.run) / COMPLETIONS_FILE).is_file()
    shutil.rmtree(Path(first.run) / SAMPLES)  # so that each sample is done again
    again = run(tmp_path, "shard=1/3")
    assert (again.kept, again.samples, again.calls) == (0, first.samples, first.calls)
    assert first.made == first.calls > again.made == 0


@pytest.mark.parametrize("text", ["0/4", "5/4", "a/b"])
def test_an_invalid_shard_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="3/64 is the third of 64"):
        parse_settings(*SETTINGS, f"shard={text}")
