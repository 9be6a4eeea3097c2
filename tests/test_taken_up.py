"""What `only_failed=true` says of runs that were never begun, and how it counts. Whole commands: see test_run.py."""

from pathlib import Path
from typing import Any

import pytest

from mmerg.experiment.work import describe_nothing, describe_wanted, is_new, refusal
from mmerg.runs.result import Result, Results
from tests.scoring.run_builder import build_run, manifest_of, result

CONFIG: dict[str, Any] = manifest_of([]).settings
HERE = "demo-merg-small-00000000"


def told(runs: Path, **changes: Any) -> str:
    return refusal(CONFIG | changes, runs / HERE).what


def test_a_folder_is_a_run_once_it_has_a_manifest(tmp_path: Path) -> None:
    assert is_new(tmp_path / HERE)
    (tmp_path / HERE).mkdir()
    assert is_new(tmp_path / HERE)
    assert not is_new(build_run(tmp_path / HERE, []))


def test_the_run_that_is_most_like_it_is_named_with_what_differs(tmp_path: Path) -> None:
    build_run(tmp_path / "demo-merg-small-11111111", [], config={"seed": 1, "frames": {"seen_by": "all"}})
    build_run(tmp_path / "demo-merg-small-22222222", [], config={"seed": 2})
    build_run(tmp_path / "demo-merg-other-33333333", [])
    assert told(tmp_path, seed=5).endswith("those of demo-merg-small-22222222: seed is 2 there and 5 here")


@pytest.mark.parametrize("count", [3, 5])
def test_many_differences_are_told_in_part(tmp_path: Path, count: int) -> None:
    names = ("last_turns", "max_frames", "per_clip", "jpeg_quality", "max_seconds")
    build_run(tmp_path / "demo-merg-small-11111111", [], config={"frames": dict.fromkeys(names[:count], 7)})
    said = told(tmp_path)
    assert said.count(" there and ") == 3
    assert said.endswith("and 2 more") == (count == 5)


def test_data_that_lie_elsewhere_are_another_run(tmp_path: Path) -> None:
    build_run(tmp_path / "demo-merg-small-11111111", [], config={"dataset": {"name": "demo", "root": "/one"}})
    assert told(tmp_path, dataset={"name": "demo", "root": "/two"}).endswith("11111111: where the data lie")


def test_a_damaged_run_beside_it_is_passed_over(tmp_path: Path) -> None:
    build_run(tmp_path / "demo-merg-small-11111111", []).joinpath("manifest.json").write_text("{")
    (tmp_path / "demo-merg-small-22222222").mkdir()
    (tmp_path / "demo-merg-small-notes.txt").write_text("mine")
    assert told(tmp_path).endswith(f"none is called demo-merg-small-… in {tmp_path}")


def test_what_is_taken_up_and_what_is_left_is_counted() -> None:
    wanted = [result(f"d{number}/2", None if number < 2 else "Oh.") for number in range(5)]
    results = Results(Result)
    for one in wanted:
        results.put(one.id, one.model_dump_json().encode() + b"\n")
    names = list(results)
    assert describe_wanted(wanted, results.only(names[:4])) == "2 of 5 failed, taken up again now"
    assert "1 of 5 is not done yet" in describe_nothing(wanted, results.only(names[1:]))
    assert describe_nothing(wanted, results).endswith("nothing to take up again")
