"""Runs killed with SIGKILL at random moments, and a run that is not."""

from pathlib import Path

from tests.runs.killed import compared


def test_a_killed_run_neither_loses_nor_duplicates_results(tmp_path: Path) -> None:
    counts = compared(tmp_path, kills=4)
    assert counts["landed"] >= 2
    assert counts["finished_before_the_end"] > 0
