"""Comparison of runs by sample."""

from mmerg.runs.comparison import compare_samples
from mmerg.runs.result import Result
from tests.scoring.run_builder import result


def run(*results: Result) -> dict[str, Result]:
    return {one.id: one for one in results}


def test_each_sample_is_compared_with_the_first_run() -> None:
    first = run(
        result("same", "Oh.", "joy", gold="joy"),
        result("better", "Oh.", "fear", gold="joy"),
        result("worse", "Oh.", "joy", gold="joy"),
        result("lost", "Oh.", "joy", gold="joy"),
        result("words", "Oh.", "joy"),
        result("alone", "Oh.", "joy", gold="joy"),
    )
    second = run(
        result("same", "Oh.", "joy", gold="joy"),
        result("better", "Oh.", "joy", gold="joy"),
        result("worse", "Oh.", "fear", gold="joy"),
        result("lost", None, gold="joy"),
        result("words", "No.", "joy"),
        result("new", "Oh.", "joy", gold="joy"),
    )
    changes = {line.sample: (line.changed, line.better, line.worse) for line in compare_samples([first, second])}
    assert changes == {
        "same": (False, False, False),
        "better": (True, True, False),
        "worse": (True, False, True),
        "lost": (True, False, True),  # a failed sample has no correct label
        "words": (True, False, False),  # there is no gold label
        "alone": (False, False, False),
        "new": (False, False, False),  # the first run lacks it
    }
