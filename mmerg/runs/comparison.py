"""Compares runs sample by sample with the first run.

[line.sample for line in compare_samples([read_results(a), read_results(b)]) if line.worse]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmerg.runs.result import Result

CHANGES = {"changed": "other reply or label", "better": "label became right", "worse": "label became wrong"}


@dataclass(frozen=True, slots=True)
class SampleComparison:
    """A sample and its result in each run (None: missing). first: the number of the first run with a result. changed: a
    reply or label differs from the first run's. better, worse: a run has the correct label and the first run has not,
    or the reverse."""

    sample: str
    results: tuple[Result | None, ...]
    first: int
    gold: str
    changed: bool
    better: bool
    worse: bool


def compare_samples(runs: Sequence[Mapping[str, Result]]) -> list[SampleComparison]:
    """A line for each sample of any run, in the order of the first run. A failed sample has no correct label."""
    return [
        _compare(sample, [run.get(sample) for run in runs])
        for sample in dict.fromkeys(key for run in runs for key in run)
    ]


def _compare(sample: str, results: Sequence[Result | None]) -> SampleComparison:
    there = [one for one in results if one]
    replies = {(one.response, one.emotion, one.failure) for one in there}
    gold = next((one.gold_emotion for one in there if one.gold_emotion), "")
    right = [one.emotion == gold for one in there] if gold else []
    held = results[0] is not None  # else there is nothing to compare with
    return SampleComparison(
        sample,
        tuple(results),
        first=results.index(there[0]),
        gold=gold,
        changed=held and len(replies) > 1,
        better=held and True in right and not right[0],
        worse=held and False in right and right[0],
    )
