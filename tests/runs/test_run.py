"""The run folder: one writer, one identity, results that survive, and the same bytes in the end."""

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mmerg.backends.protocol import Engine
from mmerg.errors import Failure, RunError
from mmerg.experiment.work import pending
from mmerg.runs import events
from mmerg.runs.folder import RESULTS, Run, read_results
from mmerg.runs.manifest import MANIFEST, Corpus, Manifest, ProtocolSection, Session, read_manifest
from mmerg.runs.result import RUNTIME_FIELDS, Result
from mmerg.runs.samples import events_file, read_events, recording

MADE = Manifest(
    identity={"config": "1", "engine": "e"},
    engine=Engine(backend="scripted", version="1", model="tiny", digest="d"),
    corpus=Corpus(name="demo", split="test", labels=("joy",)),
    protocol=ProtocolSection(description="all", samples=3, dialogues=3),
    settings={"seed": 0},
    sessions=(Session(),),
)


def result(sample: str, **changes: Any) -> Result:
    return Result.model_validate({"id": sample, "status": "ok", "response": "hi", **changes})


def do(run: Run, one: Result) -> None:
    """A sample as it is worked on: its events, then its result."""

    def work(emit: events.Emit) -> Result:
        emit(events.SampleDone(sample=one.id))
        return one

    run.record(one.id, work)


def finished(run: Run) -> list[str]:
    return [sample for sample in run.results if sample not in run.results.lost]


def ids(folder: Path) -> list[str]:
    return [json.loads(line)["id"] for line in (folder / RESULTS).read_bytes().splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with two samples."""
    with Run(tmp_path / "r", MADE) as run:
        do(run, result("a"))
        do(run, result("b"))
    return tmp_path / "r"


def test_results_come_back_and_the_last_line_of_a_sample_counts(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MADE) as run:
        do(run, result("b", status="failed", failure=Failure.TIMEOUT))
        do(run, result("a"))
        do(run, result("b", response="later"))
    assert read_results(tmp_path / "r") == {"b": result("b", response="later"), "a": result("a")}


def test_sealing_puts_one_line_a_sample_in_corpus_order_and_adding_goes_on(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MADE) as run:
        for sample in ("c", "a", "c", "b"):
            do(run, result(sample))
        run.seal(["a", "b", "c", "d"])
        do(run, result("d"))
    assert ids(tmp_path / "r") == ["a", "b", "c", "d"]


def test_sealing_what_is_in_order_writes_nothing(folder: Path) -> None:
    before = (folder / RESULTS).stat()
    with Run(folder, MADE) as run:
        run.seal(["a", "b"])
    assert ((folder / RESULTS).stat().st_ino, (folder / RESULTS).stat().st_mtime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
    )


def test_a_last_result_that_is_cut_off_is_done_again(folder: Path) -> None:
    file = folder / RESULTS
    file.write_bytes(file.read_bytes()[:-5])
    assert list(read_results(folder)) == ["a"]
    with Run(folder, MADE) as run:
        assert finished(run) == ["a"]
        do(run, result("c"))
    assert ids(folder) == ["a", "c"]


def test_a_last_result_without_its_line_feed_is_kept(folder: Path) -> None:
    file = folder / RESULTS
    file.write_bytes(file.read_bytes()[:-1])
    assert list(read_results(folder)) == ["a", "b"]
    with Run(folder, MADE) as run:
        assert finished(run) == ["a", "b"]
        do(run, result("c"))
    assert ids(folder) == ["a", "b", "c"]


def test_a_sample_is_finished_with_both_its_events_and_its_result(folder: Path) -> None:
    events_file(folder, "a").unlink()
    with Run(folder, MADE) as run:
        with recording(folder, "c") as emit:
            emit(events.SampleDone(sample="c"))
        assert finished(run) == ["b"]
        run.seal(["a", "b"])
    assert ids(folder) == ["a", "b"]  # nothing is lost where it is not done again


def test_lost_events_are_done_again(folder: Path) -> None:
    shutil.rmtree(folder / "samples")
    with Run(folder, MADE) as run:
        assert finished(run) == []
        do(run, result("a", response="again"))
        assert finished(run) == ["a"]
    assert read_results(folder)["a"].response == "again"


def test_what_a_killed_process_left_is_taken_away(folder: Path) -> None:
    before = sorted(path for path in folder.rglob("*"))
    for name in ("samples/c", "frames/.ab.jpg", ".results.jsonl", ".manifest.json"):
        (folder / f"{name}.abcdefgh.part").write_bytes(b'{"sample":"c"')
    another = folder / ".report.html.abcdefgh.part"  # of another process, which may be writing it
    another.touch()
    with Run(folder, MADE):
        pass
    assert sorted(path for path in folder.rglob("*")) == sorted([*before, another])


def test_another_identity_never_mixes_in(folder: Path) -> None:
    before = read_manifest(folder)
    with pytest.raises(RunError) as caught, Run(folder, MADE.model_copy(update={"identity": {"engine": "other"}})):
        pass
    assert "engine: e then, other now" in str(caught.value)
    assert read_manifest(folder) == before
    with Run(folder, MADE):
        pass


def test_a_run_of_another_version_is_refused_and_left_alone(folder: Path) -> None:
    (folder / MANIFEST).write_text('{"identity": {"config": "1", "engine": "e"}}', encoding="utf-8")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(RunError, match="made by another version of mmerg"), Run(folder, MADE):
        pass
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_results_without_a_manifest_are_refused(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    with pytest.raises(RunError, match=r"holds results and no manifest\.json"), Run(folder, MADE):
        pass
    (folder / RESULTS).write_bytes(b"")
    with pytest.raises(RunError, match=r"holds results and no manifest\.json"), Run(folder, MADE):
        pass


START = """
import sys
from pathlib import Path
from mmerg.errors import RunError
from tests.runs.test_run import MADE, Run
try:
    Run(Path(sys.argv[1]), MADE).__enter__()
except RunError as error:
    print(error)
    sys.exit(7)
"""


SEAL = """
import sys
from pathlib import Path
from tests.runs.test_run import MADE, Run
with Run(Path(sys.argv[1]), MADE) as run:
    told = []
    sys.addaudithook(lambda event, _: told.append(event))
    run.seal(["b", "a"])
print(*(event for event in told if event in ("fcntl.flock", "os.rename")))
"""


def start(folder: Path, script: str = START) -> subprocess.CompletedProcess[str]:
    """Another process that would write the run."""
    command = [sys.executable, "-c", script, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_a_second_process_is_refused_whatever_hidden_files_are_removed(folder: Path) -> None:
    with Run(folder, MADE) as run:
        for name in (".lock", "manifest.json.part"):
            (folder / name).unlink(missing_ok=True)
        done = start(folder)
        assert (done.returncode, "another process is writing" in done.stdout) == (7, True)
        run.seal(["b", "a"])  # puts a new file in place, which is held as well
        assert start(folder).returncode == 7
        with pytest.raises(RunError, match="another process is writing"), Run(folder, MADE):
            pass
        do(run, result("c"))
    assert start(folder).returncode == 0


def test_what_takes_the_place_of_the_results_is_locked_before_it_is_there(folder: Path) -> None:
    """Else another process that begins at that moment holds it, and the one that was at work ends with an error."""
    assert start(folder, SEAL).stdout == "fcntl.flock os.rename\n"


def test_a_writer_whose_file_was_removed_stops_and_another_goes_on(folder: Path) -> None:
    """Two that write at once would lose or double results."""
    with Run(folder, MADE) as run:
        (folder / RESULTS).rename(folder / "away")
        with Run(folder, MADE) as second:
            do(second, result("x"))
            with pytest.raises(RunError, match="was changed or removed while this run wrote it"):
                do(run, result("c"))
            with pytest.raises(RunError, match="was changed or removed while this run wrote it"):
                run.seal(["b", "a"])
            do(second, result("y"))
    assert ids(folder) == ["x", "y"]
    assert ids(folder.parent / "r") == ["x", "y"]


def test_what_somebody_else_appended_is_not_sealed_away(folder: Path) -> None:
    with Run(folder, MADE) as run:
        with (folder / RESULTS).open("a", encoding="utf-8") as file:
            file.write(result("theirs").line())
        with pytest.raises(RunError, match="was changed or removed while this run wrote it"):
            run.seal(["b", "a"])
    assert ids(folder) == ["a", "b", "theirs"]


@pytest.mark.parametrize("name", [RESULTS, MANIFEST, "samples", "frames"])
def test_links_and_pipes_are_refused_and_nothing_outside_changes(name: str, folder: Path, tmp_path: Path) -> None:
    place, outside = folder / name, tmp_path / "outside"
    place.rename(outside)
    kept = outside.read_bytes()[:-4] if outside.is_file() else b""
    if kept:
        outside.write_bytes(kept)  # torn: whoever opens it would cut or rewrite it
    place.symlink_to(outside)
    listed = sorted(outside.iterdir()) if outside.is_dir() else []
    with pytest.raises(RunError, match="a run has no link here") as caught, Run(folder, MADE):
        pass
    assert caught.value.where == str(place)
    assert outside.is_dir() or outside.read_bytes() == kept
    assert not outside.is_dir() or sorted(outside.iterdir()) == listed
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(RunError, match="of its own"), Run(folder, MADE):
        pass


def test_bytes_that_a_copy_shares_are_not_touched(folder: Path, tmp_path: Path) -> None:
    """A backup by hard links, as of `cp -al`."""
    (tmp_path / "backup").hardlink_to(folder / RESULTS)
    before = (tmp_path / "backup").read_bytes()
    with Run(folder, MADE) as run:
        do(run, result("c"))
    assert (tmp_path / "backup").read_bytes() == before
    assert ids(folder) == ["a", "b", "c"]


def test_links_named_as_parts_are_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine", encoding="utf-8")
    for name in ("manifest.json.part", "results.jsonl.part", "samples/c.part", "frames/ab.part", "frames/ab.jpg"):
        (folder / name).symlink_to(outside)
    with Run(folder, MADE) as run:
        do(run, result("c"))
        run.keep_frame("ab", lambda: b"jpeg")
        run.seal(["c", "b", "a"])
    assert outside.read_text(encoding="utf-8") == "mine"
    assert (folder / "frames" / "ab.jpg").read_bytes() == b"jpeg"


def test_files_and_folders_are_the_users_alone(folder: Path) -> None:
    with Run(folder, MADE) as run:
        run.keep_frame("ab", lambda: b"jpeg")
        run.seal(["b", "a"])
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    assert modes == {path: 0o700 if path.is_dir() else 0o600 for path in modes}


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no manifest\.json"):
        read_manifest(tmp_path)


def test_a_broken_result_line_is_named(folder: Path) -> None:
    (folder / RESULTS).write_text('{"id": 1}\n', encoding="utf-8")
    for read in (read_results, lambda path: Run(path, MADE).__enter__()):
        with pytest.raises(RunError, match="line 1 is not a record"):
            read(folder)
    assert start(folder).returncode == 7


def test_how_an_answer_was_had_is_not_compared() -> None:
    other = result("a", seconds=1.0, cached_calls=3, timing={"calls": 2, "reply_rates": [3.5]})
    assert other.comparable() == result("a").comparable()
    assert result("a", calls=3).comparable() != result("a").comparable()
    assert set(Result.model_fields) >= RUNTIME_FIELDS


def test_a_frame_is_kept_once(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MADE) as run:
        run.keep_frame("ab", lambda: b"jpeg")
        run.keep_frame("ab", lambda: b"jpeg")
    assert [file.name for file in (tmp_path / "r" / "frames").iterdir()] == ["ab.jpg"]


def test_every_start_leaves_its_versions_commit_and_settings(tmp_path: Path) -> None:
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
    assert kept.model_copy(update={"sessions": MADE.sessions}) == MADE
    assert (kept.sessions[0].versions, kept.sessions[0].git_commit) == ({"mmerg": "1"}, "a")


def test_lone_surrogates_of_file_names_and_replies_are_kept(tmp_path: Path) -> None:
    odd = MADE.model_copy(update={"settings": {"dataset": {"root": "/data/\udcff"}}})
    with Run(tmp_path / "r", odd) as run:
        do(run, result("a", response="\ud83d"))
        run.seal(["a"])
        do(run, result("b", response="\ud83d"))
    assert read_manifest(tmp_path / "r").settings == odd.settings
    assert [found.response for found in read_results(tmp_path / "r").values()] == ["\ud83d", "\ud83d"]


@pytest.mark.parametrize("taken", ["", "r", "r/frames", "r/samples", "r/results.jsonl", "r/manifest.json"])
def test_a_folder_that_cannot_be_used_is_our_own_error(taken: str, tmp_path: Path) -> None:
    place = tmp_path / "runs" / taken
    if taken in ("", "r", "r/frames", "r/samples"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("a file", encoding="utf-8")
    else:
        place.mkdir(parents=True)
    with pytest.raises(RunError) as caught, Run(tmp_path / "runs" / "r", MADE):
        pass
    assert str(tmp_path / "runs") in caught.value.where


def test_a_frame_that_cannot_be_written_leaves_no_part(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MADE) as run:
        with pytest.raises(RunError, match="cannot be written"):
            run.keep_frame("f" * 255, lambda: b"jpeg")
        assert not list((tmp_path / "r" / "frames").iterdir())


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"identity": 1}', "\x00", "[" * 200_000])
def test_a_manifest_that_is_none_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=r"the manifest|another version") as caught:
        read_manifest(tmp_path)
    assert caught.value.where == str(tmp_path / MANIFEST)


def test_a_damaged_frame_is_put_right(tmp_path: Path) -> None:
    data = b"jpeg"
    name = hashlib.sha256(data).hexdigest()
    with Run(tmp_path / "r", MADE) as run:
        run.keep_frame(name, lambda: data)
    file = tmp_path / "r" / "frames" / f"{name}.jpg"
    file.write_bytes(b"j")
    with Run(tmp_path / "r", MADE) as run:
        run.keep_frame(name, lambda: data)
    assert file.read_bytes() == data


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


FULL = """
import resource, sys
from pathlib import Path
from mmerg.errors import RunError
from tests.runs.test_run import MADE, Run, do, result
with Run(Path(sys.argv[1]), MADE) as run:
    size = (Path(sys.argv[1]) / "results.jsonl").stat().st_size
    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    limit(size + 5)
    for _ in range(2):
        try:
            do(run, result("c"))
        except RunError as error:
            print(error)
    limit(resource.RLIM_INFINITY)
    try:
        do(run, result("d"))  # there is room again, and the line before is torn
    except RunError as error:
        print(error)
"""


def test_a_full_disk_is_our_own_error_and_nothing_follows_a_torn_line(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", FULL, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.count("the disk is full") == 3, done.stdout + done.stderr
    assert (folder / RESULTS).read_bytes().endswith(b'\n{"id"')
    assert list(read_results(folder)) == ["a", "b"]
    with Run(folder, MADE) as run:
        do(run, result("c"))
    assert ids(folder) == ["a", "b", "c"]


def test_events_are_read_from_the_folder_that_wrote_them(folder: Path) -> None:
    assert [event.kind for event in read_events(folder, "a")] == ["sample_done"]


DIES = """
import os, signal, sys
from pathlib import Path
from mmerg.experiment.work import pending
from mmerg.runs import events
from mmerg.runs.result import Result
from tests.runs.test_run import MADE, Run

class Dies(Result):
    def line(self):
        os.kill(os.getpid(), signal.SIGKILL)

def work(emit):
    emit(events.SampleDone(sample="a"))
    return Dies(id="a", status="ok", response="better")

with Run(Path(sys.argv[1]), MADE) as run:
    run.record("a", work)
"""


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("only_failed", [False, True])
def test_a_failure_that_is_taken_up_and_killed_at_its_end_is_done_again(
    written: bool, only_failed: bool, folder: Path
) -> None:
    """However the next command is set; a line never stands beside the events of another try."""
    with Run(folder, MADE) as run:
        do(run, result("a", status="failed", failure=Failure.TIMEOUT))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    killed = subprocess.run([sys.executable, "-c", DIES, str(folder)], check=False, env=environment)
    assert killed.returncode == -signal.SIGKILL
    if written:  # a moment later: the line is there, and its events have no name yet
        with (folder / RESULTS).open("a", encoding="utf-8") as file:
            file.write(result("a", response="better").line())
    [part] = read_events(folder, "a")
    assert (part.kind, events_file(folder, "a").exists()) == ("sample_done", False)
    with Run(folder, MADE) as run:
        assert [one.id for one in pending([result("a"), result("b")], run.results, only_failed)] == ["a"]
        do(run, result("a", response="better"))
        run.seal(["a", "b"])
        assert not run.results.lost
    assert [one.response for one in read_results(folder).values()] == ["better", "hi"]
    assert sorted(path.name for path in (folder / "samples").iterdir()) == ["a.jsonl", "b.jsonl"]
