"""The run folder: one writer, one identity, results that survive, and the same bytes in the end."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mmerg.errors import Failure, RunError
from mmerg.runs.folder import Run, read_manifest, read_results
from mmerg.runs.result import HOW, Result

ENGINE = {"backend": "scripted", "version": "1", "model": "tiny", "digest": "d"}
MANIFEST: dict[str, Any] = {"identity": {"config": "1", "engine": "e"}, "engine": ENGINE, "config": {"seed": 0}}


def result(sample: str, **changes: Any) -> Result:
    return Result.model_validate({"id": sample, "status": "ok", "response": "hi", **changes})


def test_results_come_back_and_the_last_line_of_a_sample_counts(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MANIFEST) as run:
        run.add(result("b", status="failed", failure=Failure.TIMEOUT))
        run.add(result("a"))
        run.add(result("b", response="later"))
    assert read_results(tmp_path / "r") == {"b": result("b", response="later"), "a": result("a")}


def test_sealing_puts_one_line_a_sample_in_corpus_order_and_adding_goes_on(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MANIFEST) as run:
        for sample in ("c", "a", "c", "b"):
            run.add(result(sample))
        run.seal(["a", "b", "c", "d"])
        run.add(result("d"))
    lines = (tmp_path / "r" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "b", "c", "d"]


def test_what_was_looked_up_before_sealing_is_not_read_from_other_places(tmp_path: Path) -> None:
    with Run(tmp_path / "run", MANIFEST) as run:
        for sample in ("b", "a"):
            run.add(result(sample))
        before = run.results.part()
        run.seal(["a", "b"])
        with pytest.raises(RunError, match="put in order since"):
            list(before)
        assert [one.id for one in run.results.part()] == ["a", "b"]


def test_a_torn_last_result_is_dropped(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MANIFEST) as run:
        run.add(result("a"))
        run.add(result("b"))
    file = tmp_path / "r" / "results.jsonl"
    file.write_bytes(file.read_bytes()[:-5])
    assert list(read_results(tmp_path / "r")) == ["a"]
    with Run(tmp_path / "r", MANIFEST) as run:
        run.add(result("c"))
    assert list(read_results(tmp_path / "r")) == ["a", "c"]


def test_another_identity_never_mixes_in(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MANIFEST):
        pass
    other = {**MANIFEST, "identity": {"config": "1", "engine": "other"}}
    with pytest.raises(RunError) as caught, Run(tmp_path / "r", other):
        pass
    assert "engine: e then, other now" in str(caught.value)
    kept = read_manifest(tmp_path / "r")
    assert len(kept.pop("sessions")) == 1
    assert kept == MANIFEST
    with Run(tmp_path / "r", MANIFEST):
        pass


def test_two_processes_on_one_folder_are_refused(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from mmerg.runs.folder import Run\n"
        "from mmerg.errors import RunError\n"
        "try:\n  Run(Path(sys.argv[1]), {'identity': {'config': '1', 'engine': 'e'}}).__enter__()\n"
        "except RunError as error: print(error); sys.exit(7)\n"
    )
    with Run(tmp_path / "r", MANIFEST):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "r")], capture_output=True, text=True, check=False
        )
    assert done.returncode == 7
    assert "another process is writing" in done.stdout


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no manifest\.json"):
        read_manifest(tmp_path)


def test_a_broken_result_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"id": 1}\n', encoding="utf-8")
    with pytest.raises(RunError, match="line 1"):
        read_results(tmp_path)


def test_how_an_answer_was_had_is_not_compared() -> None:
    assert result("a", seconds=1.0, cached_calls=3).comparable() == result("a").comparable()
    assert result("a", calls=3).comparable() != result("a").comparable()
    assert set(Result.model_fields) >= HOW


def test_a_frame_is_kept_once(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MANIFEST) as run:
        run.keep_frame("ab", lambda: b"jpeg")
        run.keep_frame("ab", lambda: b"jpeg")
    assert [file.name for file in (tmp_path / "r" / "frames").iterdir()] == ["ab.jpg"]


def test_every_start_leaves_its_versions_commit_and_settings(tmp_path: Path) -> None:
    first = {**MANIFEST, "versions": {"mmerg": "1"}, "git_commit": "a", "how": {"limit": 2}}
    second = {**MANIFEST, "versions": {"mmerg": "2"}, "git_commit": "b", "how": {"limit": 3}}
    for manifest in (first, second):
        with Run(tmp_path / "r", manifest):
            pass
    kept = read_manifest(tmp_path / "r")
    starts = [datetime.fromisoformat(session.pop("at")) for session in kept["sessions"]]
    assert starts == sorted(starts)
    assert starts[0].utcoffset() == timedelta(0)
    assert kept["sessions"] == [{key: m[key] for key in ("versions", "git_commit", "how")} for m in (first, second)]
    assert (kept["identity"], kept["versions"], kept["git_commit"]) == (MANIFEST["identity"], {"mmerg": "1"}, "a")


def test_lone_surrogates_of_file_names_and_replies_are_kept(tmp_path: Path) -> None:
    odd = {**MANIFEST, "config": {"dataset": {"root": "/data/\udcff"}}}
    with Run(tmp_path / "r", odd) as run:
        run.add(result("a", response="\ud83d"))
        run.seal(["a"])
        run.add(result("b", response="\ud83d"))
    assert read_manifest(tmp_path / "r")["config"] == odd["config"]
    assert [found.response for found in read_results(tmp_path / "r").values()] == ["\ud83d", "\ud83d"]


@pytest.mark.parametrize(
    "taken", ["", "r", "r/frames", "r/.lock", "r/results.jsonl", "r/trace.jsonl", "r/manifest.json"]
)
def test_a_folder_that_cannot_be_used_is_our_own_error(taken: str, tmp_path: Path) -> None:
    place = tmp_path / "runs" / taken
    if taken in ("", "r", "r/frames"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("a file", encoding="utf-8")
    else:
        place.mkdir(parents=True)
    with pytest.raises(RunError) as caught, Run(tmp_path / "runs" / "r", MANIFEST):
        pass
    assert str(tmp_path / "runs") in caught.value.where


def test_a_frame_that_cannot_be_written_leaves_no_part(tmp_path: Path) -> None:
    with Run(tmp_path / "r", MANIFEST) as run:
        long = "f" * 245  # the part's name is too long, and that of the frame not
        with pytest.raises(RunError, match="cannot be written"):
            run.keep_frame(long, lambda: b"jpeg")
        assert not list((tmp_path / "r" / "frames").iterdir())


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"identity": 1}', "\x00"])
def test_a_manifest_that_is_none_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match="the manifest"):
        read_manifest(tmp_path)


def test_a_damaged_frame_is_put_right(tmp_path: Path) -> None:
    data = b"jpeg"
    name = hashlib.sha256(data).hexdigest()
    with Run(tmp_path / "r", MANIFEST) as run:
        run.keep_frame(name, lambda: data)
    file = tmp_path / "r" / "frames" / f"{name}.jpg"
    file.write_bytes(b"j")
    with Run(tmp_path / "r", MANIFEST) as run:
        run.keep_frame(name, lambda: data)
    assert file.read_bytes() == data


def test_a_manifest_too_deep_to_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(RunError, match="the manifest cannot be read"):
        read_manifest(tmp_path)
