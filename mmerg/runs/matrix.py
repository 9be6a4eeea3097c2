"""Several runs sample by sample: what each replied, and what became of it against the first run.

[line.sample for line in matrix([read_results(a), read_results(b)]) if line.worse]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmerg.runs.result import Result

JUDGED = {"changed": "other reply or label", "better": "label became right", "worse": "label became wrong"}


@dataclass(frozen=True, slots=True)
class Line:
    """A sample with its result in each run, None where a run has none. changed: a run's reply or label is not that of
    the first; better, worse: a run has the label right and the first has not, or the other way round."""

    sample: str
    results: tuple[Result | None, ...]

    @property
    def first(self) -> int:
        """The number of the first run that has it, from 0."""
        return next(number for number, one in enumerate(self.results) if one)

    @property
    def gold(self) -> str:
        return next((one.gold_emotion for one in self.results if one and one.gold_emotion), "")

    @property
    def changed(self) -> bool:
        said = [(one.response, one.emotion, one.failure) for one in self.results if one]
        return self.results[0] is not None and any(one != said[0] for one in said)

    @property
    def better(self) -> bool:
        return self._turned(True)

    @property
    def worse(self) -> bool:
        return self._turned(False)

    def _turned(self, to: bool) -> bool:
        right = [one.emotion == self.gold for one in self.results if one]
        return bool(self.gold) and self.results[0] is not None and right[0] is not to and to in right


def matrix(runs: Sequence[Mapping[str, Result]]) -> list[Line]:
    """A line a sample that any run finished, in the order of the first run; a failed sample has no label right."""
    samples = dict.fromkeys(sample for run in runs for sample in run)
    return [Line(sample, tuple(run.get(sample) for run in runs)) for sample in samples]
