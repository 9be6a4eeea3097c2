"""Figures over verdicts: each is the mean over samples of what a sample's verdicts give, with an interval by dialogue.

Shares are in percent and get Wilson's interval, with n samples however many verdicts each has: wider than need be
rather than too narrow, and with a width even where all verdicts are alike. Ratings get a bootstrap.

    mean("empathy", [4.0, None, 3.5], ["d0", "d1", "d2"], by="bootstrap")    # n 2: a sample with None does not count
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from mmerg.judging.schemas import LEVELS
from mmerg.runs.result import Verdicts
from mmerg.scoring.metric import IntervalBy, Ratio
from mmerg.scoring.score import Score


def mean(
    name: str,
    values: Sequence[float | None],
    dialogues: Sequence[str],
    *,
    by: IntervalBy,
    higher_is_better: bool | None = None,
    signature: str = "",
) -> Score:
    """The mean of one value a sample, over the samples that have one. dialogues: where each sample is from."""
    kept = [(value, dialogue) for value, dialogue in zip(values, dialogues, strict=True) if value is not None]
    about: Any = {"name": name, "higher_is_better": higher_is_better, "signature": signature}
    if not kept:
        return Score(value=None, n=0, why="no sample has verdicts for it", **about)
    numbers = np.array([value for value, _ in kept], float)
    found = Score.over(Ratio(numbers, np.ones(len(kept))), [dialogue for _, dialogue in kept], by, **about)
    if found.method and by == "wilson" and not set(numbers.tolist()) <= {0.0, 100.0}:
        return found.model_copy(update={"method": f"{found.method}, a sample's share of several cases as one case"})
    return found


def share(held: Sequence[bool]) -> float | None:
    """How many of a sample's cases hold, in percent; None where it has no case."""
    return 100 * sum(held) / len(held) if held else None


def ratings(samples: Sequence[Verdicts], aspects: Sequence[str], signature: str) -> dict[str, Score]:
    """Mean ratings by aspect, 1 to 5, higher is better. A sample's rating is the mean over its usable repeats; one
    without any does not count. Where the run gave no reply the rating is the lowest: else a run gained by failing where
    replies are hard."""
    dialogues = [sample.dialogue for sample in samples]
    given = {aspect: [_rating(sample, aspect) for sample in samples] for aspect in aspects}
    return {
        aspect: mean(aspect, values, dialogues, by="bootstrap", higher_is_better=True, signature=signature)
        for aspect, values in given.items()
    }


def _rating(sample: Verdicts, aspect: str) -> float | None:
    if sample.no_reply:
        return float(LEVELS[0])
    given = [verdict.score for verdict in sample.verdicts if verdict.aspect == aspect and verdict.score is not None]
    return fmean(given) if given else None
