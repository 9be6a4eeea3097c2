"""Mean ratings by aspect. A sample's rating is the mean over its usable repeats; one without any does not count. Where
the run gave no reply the rating is the lowest: else a run gained by failing where replies are hard.

scores = ratings(samples, ["empathy", "coherence", "fluency"], signature)
scores["empathy"].value, scores["empathy"].interval
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from mmerg.judging.figures import mean
from mmerg.judging.schemas import LEVELS
from mmerg.runs.result import Verdicts
from mmerg.scoring.score import Score


def ratings(samples: Sequence[Verdicts], aspects: Sequence[str], signature: str) -> dict[str, Score]:
    """The figures of a run: 1 to 5, higher is better."""
    dialogues = [sample.dialogue for sample in samples]
    return {
        aspect: mean(
            aspect,
            [_rating(sample, aspect) for sample in samples],
            dialogues,
            by="bootstrap",
            higher_is_better=True,
            signature=signature,
        )
        for aspect in aspects
    }


def _rating(sample: Verdicts, aspect: str) -> float | None:
    if sample.no_reply:
        return float(LEVELS[0])
    given = [verdict.score for verdict in sample.verdicts if verdict.aspect == aspect and verdict.score is not None]
    return fmean(given) if given else None
