"""A run with its figures, as `scores.json` keeps them, for plots that compare runs."""

from __future__ import annotations

from dataclasses import dataclass

from mmerg.errors import RunError
from mmerg.exporting.about import About
from mmerg.records.lines import why
from mmerg.scoring.score import SCORES, Score, Scores

METRICS = ("acc", "dist1", "dist2", "self_ppl", "bert_f1")
TITLES = {
    "acc": "Accuracy, %",
    "dist1": "Distinct-1, %",
    "dist2": "Distinct-2, %",
    "self_ppl": "PPL (self)",
    "bert_f1": "BERT F1, %",
}


@dataclass(frozen=True)
class Scored:
    """scores None: there is no scores.json, or it is of another state of the run; `why` says which."""

    about: About
    scores: Scores | None
    why: str = ""

    def score(self, metric: str) -> tuple[float, Score] | None:
        """A figure's value with what stands beside it, where it has one."""
        score = self.scores.scores.get(metric) if self.scores else None
        return (score.value, score) if score and score.value is not None else None


def read_scored(about: About, finished: int) -> Scored:
    """The figures of a run with so many finished samples. Raises RunError where its scores.json cannot be read."""
    file = about.path / SCORES
    again = f"python -m mmerg.score {about.path}"
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return Scored(about, None, f"it has no {SCORES}: {again}")
    except OSError as error:
        raise RunError(f"the scores cannot be read: {error.strerror}", where=str(file)) from error
    try:
        scores = Scores.model_validate_json(data)
    except ValueError as error:
        raise RunError(f"the scores are not of this version: {why(error)}", where=str(file), hint=again) from error
    if scores.n != finished or scores.identity != about.identity:
        return Scored(about, None, f"its {SCORES} is of another state of the run: {again}")
    return Scored(about, scores)


def with_any(scored: list[Scored]) -> list[str]:
    """The metrics of which any of the runs has a figure, in the order of METRICS."""
    return [metric for metric in METRICS if any(run.score(metric) for run in scored)]
