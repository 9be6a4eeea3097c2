"""Runs that are killed with SIGKILL at random moments, against one that is not."""

from pathlib import Path

from tests.runs.killed import compared


def test_a_run_that_is_killed_again_and_again_loses_doubles_and_changes_nothing(tmp_path: Path) -> None:
    counts = compared(tmp_path, kills=6)
    assert counts["landed"] >= 3
    assert counts["finished_before_the_end"] > 0
