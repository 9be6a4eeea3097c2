"""What `only_failed=true` says of runs that were never begun, and how it counts. Whole commands: see test_run.py."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmerg.experiment.work import describe_nothing, describe_wanted, refusal
from mmerg.runs.result import Result, Results
from tests.scoring.run_builder import build_run, manifest_of, result

CONFIG: dict[str, Any] = manifest_of([]).settings
IDENTITY = {part: digest for part, digest in manifest_of([]).identity.items() if part not in ("clips", "engine")}
HERE = "demo-merg-small-00000000"


def told(runs: Path, identity: Mapping[str, str] | None = None, **changes: Any) -> str:
    return refusal(CONFIG | changes, {**IDENTITY, **(identity or {})}, runs / HERE).what


def test_the_run_that_is_most_like_it_is_named_with_what_differs(tmp_path: Path) -> None:
    build_run(tmp_path / "demo-merg-small-11111111", [], config={"seed": 1, "frames": {"seen_by": "all"}})
    build_run(tmp_path / "demo-merg-small-22222222", [], config={"seed": 2})
    build_run(tmp_path / "demo-merg-other-33333333", [])
    assert told(tmp_path, {"config": "other"}, seed=5).endswith("compared with demo-merg-small-22222222, seed 2 → 5")


def test_files_that_changed_are_named(tmp_path: Path) -> None:
    build_run(tmp_path / "demo-merg-small-11111111", [], config={"dataset": {"name": "demo", "root": "/one"}})
    elsewhere = {"name": "demo", "root": "/two"}
    files = {"corpus": "ab", "prompt mpa.j2": "ab", "mine_parts.py": "ab"}
    changed = "11111111, the corpus's files changed; prompt mpa.j2 changed; mine_parts.py is new"
    assert told(tmp_path, files, dataset=elsewhere).endswith(changed)


def test_what_is_taken_up_and_what_is_left_is_counted() -> None:
    wanted = [result(f"d{number}/2", None if number < 2 else "Oh.") for number in range(5)]
    results = Results(Result)
    for one in wanted:
        results.put(one.id, one.model_dump_json().encode() + b"\n")
    names = list(results)
    assert describe_wanted(wanted, results.only(names[:4])) == "retrying 2 of 5 samples, which failed before"
    assert "1 of 5 is not done yet" in describe_nothing(wanted, results.only(names[1:]))
    assert describe_nothing(wanted, results).endswith("nothing to retry")
