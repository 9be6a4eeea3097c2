"""Comparison of several runs with the first one, sample by sample.

[row.sample for row in compare_samples([read_results(a), read_results(b)]) if row.worse]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmerg.runs.result import Result

CHANGES = {"changed": "other reply or label", "better": "label became right", "worse": "label became wrong"}


@dataclass(frozen=True, slots=True)
class SampleComparison:
    """The results of several runs for one sample."""

    sample: str
    results: tuple[Result | None, ...]  # by run; None if a run has no result
    first: int  # the number of the first run that has a result, from 0
    gold: str  # the correct label; "" if there is none
    changed: bool  # the reply or label of a run differs from that of the first run
    better: bool  # a run has the correct label, and the first run does not
    worse: bool  # the first run has the correct label, and another run does not


def compare_samples(runs: Sequence[Mapping[str, Result]]) -> list[SampleComparison]:
    """Compares all samples, in the order of the first run. A failed sample never has the correct label."""
    return [
        _compare(sample, [run.get(sample) for run in runs])
        for sample in dict.fromkeys(key for run in runs for key in run)
    ]


def _compare(sample: str, results: Sequence[Result | None]) -> SampleComparison:
    present = [result for result in results if result]
    replies = {(result.response, result.emotion, result.failure) for result in present}
    gold = next((result.gold_emotion for result in present if result.gold_emotion), "")
    correct = [result.emotion == gold for result in present] if gold else []
    comparable = results[0] is not None
    return SampleComparison(
        sample,
        tuple(results),
        first=results.index(present[0]),
        gold=gold,
        changed=comparable and len(replies) > 1,
        better=comparable and True in correct and not correct[0],
        worse=comparable and False in correct and correct[0],
    )
