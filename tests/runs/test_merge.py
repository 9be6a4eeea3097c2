"""Merges of shards: the bytes of an unsharded run, refused shards, and killed merges."""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.errors import RunError
from mmerg.merge import main
from mmerg.runs.folder import RESULTS, Run, lock_folder, read_results
from mmerg.runs.manifest import Manifest, read_manifest
from mmerg.runs.merge import merge
from mmerg.runs.result import Result
from mmerg.runs.samples import SAMPLES, events_file
from mmerg.runs.shards import ORDER, SHARDS, Shard, write_order
from tests.run_folders import read_contents
from tests.runs.parts import exit_code
from tests.scoring.run_builder import make_manifest, record_sample, result

SAMPLES_OF_IT = [f"d{dialogue}/{turn}" for dialogue in range(12) for turn in (2, 4)]


def outcome(sample: str) -> Result:
    return result(sample, None if sample == "d3/4" else f"Reply to {sample}, é and 😀.", seconds=1.5)


def manifest(shard: Shard | None = None, identity: str = "same") -> Manifest:
    made = make_manifest([outcome(sample) for sample in SAMPLES_OF_IT], identity=identity)
    how = {"shard": str(shard)} if shard else {}
    session = made.sessions[0].model_copy(update={"how": how})
    settings = {**made.settings, "shard": str(shard) if shard else None}
    return made.model_copy(update={"sessions": (session,), "settings": settings})


def write(folder: Path, made: Manifest, samples: Sequence[str], *, seal: bool = True) -> Path:
    with Run(folder, made) as run:
        for sample in samples:
            run.keep_frame(sha256(sample[-1:].encode()).hexdigest(), sample[-1:].encode)
            record_sample(run, outcome(sample), [])
        if seal:
            run.seal(SAMPLES_OF_IT)
    return folder


def own(shard: Shard) -> list[tuple[int, str]]:
    return [(n, one) for n, one in enumerate(SAMPLES_OF_IT) if shard.contains(one.partition("/")[0])]


def write_shard(run: Path, text: str, identity: str = "same") -> Path:
    """A shard with its samples in reverse order."""
    shard = Shard.parse(text)
    samples = [sample for _, sample in own(shard)]
    folder = write(shard.folder(run), manifest(shard, identity), samples[::-1])
    write_order(folder, own(shard))
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three finished shards, and the run of one process."""
    folder = tmp_path_factory.mktemp("made")
    for number in (1, 2, 3):
        write_shard(folder / "run", f"{number}/3")
    write(folder / "plain", manifest(), SAMPLES_OF_IT)
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of the shards."""
    return shutil.copytree(made / "run", tmp_path / "run")


@pytest.fixture
def plain(made: Path, tmp_path: Path) -> Path:
    """A copy of the run of one process."""
    return shutil.copytree(made / "plain", tmp_path / "plain")


def held_but(run: Path) -> dict[str, object]:
    """The content of the merged folder without its shards."""
    away = run.with_name("shards-away")
    (run / SHARDS).rename(away)
    try:
        return read_contents(run)
    finally:
        away.rename(run / SHARDS)


@given(dialogues=st.sets(st.text(), max_size=30), total=st.integers(1, 9))
def test_each_dialogue_is_in_one_shard(dialogues: set[str], total: int) -> None:
    for dialogue in dialogues:
        assert sum(Shard(number, total).contains(dialogue) for number in range(1, total + 1)) == 1


def test_merging_again_adds_later_results(run: Path) -> None:
    merge(run)
    before = held_but(run)
    assert len(merge(run)) == 24
    assert held_but(run) == before
    shard = next(shard for shard in (Shard(n, 3) for n in (1, 2, 3)) if shard.contains("d3"))
    with Run(shard.folder(run), manifest(shard)) as again:
        record_sample(again, result("d3/4", "Now it is said."), [])
        again.seal(SAMPLES_OF_IT)
    assert all(one.ok for one in merge(run).values())
    assert read_results(run)["d3/4"].response == "Now it is said."
    assert events_file(run, "d3/4").read_bytes() == events_file(shard.folder(run), "d3/4").read_bytes()


def drop_one(run: Path) -> None:
    shutil.rmtree(Shard(2, 3).folder(run))


def other_settings(run: Path) -> None:
    shutil.rmtree(Shard(2, 3).folder(run))
    write_shard(run, "2/3", identity="other")


def events_gone(run: Path) -> None:
    next((Shard(3, 3).folder(run) / SAMPLES).iterdir()).unlink()


def cut_off(run: Path) -> None:
    file = Shard(1, 3).folder(run) / RESULTS
    file.write_bytes(file.read_bytes()[:-9])


def damaged_order(run: Path) -> None:
    (Shard(1, 3).folder(run) / ORDER).write_text("[1]\n7\n", encoding="utf-8")


def damaged(run: Path) -> None:
    file = Shard(1, 3).folder(run) / RESULTS
    file.write_bytes(b'{"id": 5}\n' + file.read_bytes())


def no_shards(run: Path) -> None:
    shutil.rmtree(run / SHARDS)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (drop_one, "10 samples are not finished, in shards 2/3"),
        (
            other_settings,
            "shards 1/3 and 2/3 differ: the engine changed; another version of mmerg reads ",
        ),
        (events_gone, "1 samples are not finished, in shards 3/3"),
        (cut_off, "1 samples are not finished, in shards 1/3"),
        (damaged_order, "the list of this shard's samples cannot be read"),
        (damaged, "line 1 is not a valid record"),
        (no_shards, "there is no shard to merge"),
    ],
)
def test_shards_that_do_not_fit_are_refused_and_unchanged(run: Path, spoil: Callable[[Path], None], said: str) -> None:
    spoil(run)
    with pytest.raises(RunError, match=said) as error:
        merge(run)
    assert error.value.hint
    assert {file.name for file in run.iterdir()} <= {SHARDS}


@pytest.mark.parametrize("writes", ["shard", "run"])
def test_a_folder_in_use_is_refused(run: Path, writes: str) -> None:
    folder = run if writes == "run" else Shard(2, 3).folder(run)
    with lock_folder(folder), pytest.raises(RunError, match="another process is writing to this run"):
        merge(run)
    merge(run)


def test_a_run_continued_without_shards_is_not_overwritten(run: Path) -> None:
    merge(run)
    with Run(run, manifest()):
        pass
    with pytest.raises(RunError, match="the run was also started without shards"):
        merge(run)


def test_samples_of_a_removed_shard_are_not_overwritten(run: Path) -> None:
    merge(run)
    before = held_but(run)
    shutil.rmtree(Shard(2, 3).folder(run))
    with pytest.raises(RunError, match="10 samples are not finished, in shards 2/3"):
        merge(run)
    assert held_but(run) == before


def die_at_a_copy(run: Path, number: int) -> None:
    """A merge that is killed at its copy of that number, in its own process."""
    left = number

    def count(event: str, _: object) -> None:
        nonlocal left
        if event == "shutil.copyfile":
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    merge(run)


def test_a_killed_merge_leaves_no_run_and_may_be_repeated(run: Path, plain: Path) -> None:
    merge(run)
    for number in (1, 4, 20):
        assert exit_code(die_at_a_copy, run, number) == -signal.SIGKILL
        assert main([str(run / SAMPLES)]) == 2
        with pytest.raises(RunError, match="its shards are not merged yet") as error:
            read_manifest(run)
        assert error.value.hint == f"merge them: mmerg merge {run}"
        merge(run)
        assert held_but(run) == read_contents(plain)


def test_the_command_prints_the_merged_samples(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shard = Shard(2, 3).folder(run)
    shard.rename(run / "away")
    assert main([str(run)]) == 2
    assert "mmerg run … shard=2/3" in capsys.readouterr().err
    (run / "away").rename(shard)
    assert main([str(run)]) == 1
    assert capsys.readouterr().out == f"merged 24 samples (1 failed)\nrun: {run}\n"
