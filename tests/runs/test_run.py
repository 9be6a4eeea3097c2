"""The run folder: one writer, one identity, no lost results, and equal bytes for equal runs."""

import json
import shutil
import signal
import stat
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mmerg.errors import Failure, RunError
from mmerg.experiment.work import select_pending
from mmerg.runs.folder import RESULTS, Run, read_results
from mmerg.runs.manifest import MANIFEST, Session, read_manifest
from mmerg.runs.samples import events_file
from tests.runs.parts import (
    MADE,
    REFUSED,
    begin,
    die_at_the_end_of_a_sample,
    do,
    exit_code,
    fill_the_disk,
    result,
)


def finished(run: Run) -> list[str]:
    return [sample for sample in run.results if sample not in run.results.without_events]


def ids(folder: Path) -> list[str]:
    return [json.loads(line)["id"] for line in (folder / RESULTS).read_bytes().splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with two samples."""
    with Run(tmp_path / "r", MADE) as run:
        do(run, result("a"))
        do(run, result("b"))
    return tmp_path / "r"


def test_sealing_sorts_one_line_for_each_sample(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MADE) as run:
        for sample in ("c", "a", "c", "b"):
            do(run, result(sample))
        run.seal(["a", "b", "c", "d"])
        do(run, result("d"))
    assert ids(tmp_path / "r") == ["a", "b", "c", "d"]


@pytest.mark.parametrize(("cut", "kept"), [(5, ["a"]), (1, ["a", "b"])])
def test_an_incomplete_last_result_runs_again(cut: int, kept: list[str], folder: Path) -> None:
    file = folder / RESULTS
    file.write_bytes(file.read_bytes()[:-cut])
    assert list(read_results(folder)) == kept
    with Run(folder, MADE) as run:
        assert finished(run) == kept
        do(run, result("c"))
    assert ids(folder) == [*kept, "c"]


def test_samples_without_events_run_again(folder: Path) -> None:
    shutil.rmtree(folder / "samples")
    with Run(folder, MADE) as run:
        assert finished(run) == []
        do(run, result("a", response="again"))
        assert finished(run) == ["a"]
    assert read_results(folder)["a"].response == "again"


def test_incomplete_files_of_a_killed_process_are_removed(folder: Path) -> None:
    (folder / "frames").mkdir()
    before = sorted(folder.rglob("*"))
    for name in ("samples/c", "frames/.ab.jpg", ".results.jsonl", ".manifest.json"):
        (folder / f"{name}.abcdefgh.part").write_bytes(b'{"sample":"c"')
    another = folder / ".report.html.abcdefgh.part"  # another process may be writing it
    another.touch()
    with Run(folder, MADE):
        pass
    assert sorted(folder.rglob("*")) == sorted([*before, another])


def test_another_identity_is_refused(folder: Path) -> None:
    before = read_manifest(folder)
    other = MADE.model_copy(update={"identity": MADE.identity | {"config": "2"}, "settings": {"seed": 2}})
    with pytest.raises(RunError, match="other settings or data: seed 0 → 2"), Run(folder, other):
        pass
    assert read_manifest(folder) == before
    with Run(folder, MADE):
        pass


THERE = "point backend.hosts=[…] to a server that has tiny, digest d, on scripted 1"
RESTORE = "restore what changed and run the same command again"


@pytest.mark.parametrize(
    ("changed", "said", "way"),
    [
        ({"digest": "91c0" * 16}, "model digest d → 91c091c091c0", THERE),
        ({"load": {"num_ctx": 512}}, "load option num_ctx none → 512", RESTORE),
    ],
)
def test_a_changed_engine_is_named_first_with_both_hints(
    folder: Path, changed: dict[str, Any], said: str, way: str
) -> None:
    engine = MADE.engine.model_copy(update=changed)
    identity = {"config": "2", "engine": engine.key()}
    with (
        pytest.raises(RunError) as caught,
        Run(folder, MADE.model_copy(update={"engine": engine, "identity": identity, "settings": {"seed": 2}})),
    ):
        pass
    assert caught.value.what == f"the run was started with another engine: {said}; seed 0 → 2"
    assert "to start a new run, add tags=[new] to the command; " in caught.value.hint
    assert caught.value.hint.endswith(f"to continue this run, {way}")


def test_a_run_of_another_version_is_refused_and_left_alone(folder: Path) -> None:
    (folder / MANIFEST).write_text('{"identity": {"config": "1", "engine": "e"}}', encoding="utf-8")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(RunError, match="of another version of mmerg: engine"), Run(folder, MADE):
        pass
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_second_process_is_refused(folder: Path) -> None:
    with Run(folder, MADE) as run:
        assert exit_code(begin, folder) == REFUSED
        run.seal(["b", "a"])  # puts a new file in place
        assert exit_code(begin, folder) == REFUSED
        with pytest.raises(RunError, match="another process is writing"), Run(folder, MADE):
            pass
        do(run, result("c"))
    assert exit_code(begin, folder) == 0


def test_files_and_folders_are_private(folder: Path) -> None:
    with Run(folder, MADE) as run:
        run.keep_frame("ab", lambda: b"jpeg")
        run.seal(["b", "a"])
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    assert modes == {path: 0o700 if path.is_dir() else 0o600 for path in modes}


def test_every_start_is_recorded(tmp_path: Path) -> None:
    first = Session(versions={"mmerg": "1"}, git_commit="a", how={"limit": 2})
    second = Session(versions={"mmerg": "2"}, git_commit="b", how={"limit": 3})
    for session in (first, second):
        with Run(tmp_path / "r", MADE.model_copy(update={"sessions": (session,)})):
            pass
    kept = read_manifest(tmp_path / "r")
    starts = [datetime.fromisoformat(session.at) for session in kept.sessions]
    assert starts == sorted(starts)
    assert starts[0].utcoffset() == timedelta(0)
    assert [session.model_copy(update={"at": ""}) for session in kept.sessions] == [first, second]
    assert kept.model_copy(update={"sessions": MADE.sessions}) == MADE.with_digest()


def test_paths_that_are_not_utf_8(tmp_path: Path) -> None:
    odd = MADE.model_copy(update={"settings": {"dataset": {"root": "/data/\udcff"}}})
    with Run(tmp_path / "r", odd) as run:
        do(run, result("a", failure_text="no file /data/\udcff"))
    assert read_manifest(tmp_path / "r").settings == odd.settings
    assert read_results(tmp_path / "r")["a"].failure_text == "no file /data/?"


@pytest.mark.parametrize("taken", ["", "r", "r/samples", "r/results.jsonl", "r/.lock"])
def test_a_folder_that_cannot_be_used_is_a_run_error(taken: str, tmp_path: Path) -> None:
    place = tmp_path / "runs" / taken
    if taken in ("", "r", "r/samples"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("a file", encoding="utf-8")
    else:
        place.mkdir(parents=True)
    with pytest.raises(RunError) as caught, Run(tmp_path / "runs" / "r", MADE):
        pass
    assert str(tmp_path / "runs") in caught.value.where


def test_a_frame_is_written_once(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MADE) as run:
        run.keep_frame("ab", lambda: b"jpeg")
        run.keep_frame("ab", lambda: b"another")
    assert (tmp_path / "r" / "frames" / "ab.jpg").read_bytes() == b"jpeg"


def test_many_threads_finish_samples_at_once(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MADE) as run:

        def work(number: int) -> None:
            for sample in range(10):
                do(run, result(f"{number}/{sample}", response="w" * 20_000))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(read_results(tmp_path / "r")) == [f"{n}/{s}" for n in range(4) for s in range(10)]


def test_a_full_disk_is_a_run_error_and_no_line_follows_an_incomplete_one(folder: Path) -> None:
    assert exit_code(fill_the_disk, folder) == 0
    errors = (folder / "errors").read_text(encoding="utf-8").splitlines()
    assert errors == ["the disk is full, or a quota is reached"] * 2
    assert ids(folder) == ["a", "b", "e"]
    assert not read_results(folder).without_events


@pytest.mark.parametrize("written", [False, True])
def test_a_retried_failure_that_is_killed_at_its_end_runs_again(written: bool, folder: Path) -> None:
    """A line and events are of the same attempt."""
    with Run(folder, MADE) as run:
        do(run, result("a", status="failed", failure=Failure.TIMEOUT))
    assert exit_code(die_at_the_end_of_a_sample, folder) == -signal.SIGKILL
    if written:  # killed after the line and before its events had their name
        with (folder / RESULTS).open("a", encoding="utf-8") as file:
            file.write(result("a", response="better").with_digest(MADE.identity).line())
    assert not events_file(folder, "a").exists()
    with Run(folder, MADE) as run:
        assert [one.id for one in select_pending([result("a"), result("b")], run.results)] == ["a"]
        do(run, result("a", response="better"))
        run.seal(["a", "b"])
        assert not run.results.without_events
    assert [one.response for one in read_results(folder).values()] == ["better", "hi"]
    assert sorted(path.name for path in (folder / "samples").iterdir()) == ["a.jsonl", "b.jsonl"]
