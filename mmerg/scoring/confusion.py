"""Which emotion is taken for which: counts by gold label and forecast.

confusion(run.answers).counts
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mmerg.scoring.accuracy import labelled
from mmerg.scoring.answers import Answer
from mmerg.scoring.score import Confusion


def confusion(answers: Sequence[Answer], labels: Sequence[str]) -> Confusion | None:
    """The samples that `acc` is over. Rows and columns in the order of `labels` (the dataset's), any other label that
    occurs behind them. None where accuracy has no figure, either."""
    kept = [answer.result for answer, counts in zip(answers, labelled(answers, failed=True), strict=True) if counts]
    if not kept:
        return None
    seen = {label for result in kept for label in (result.gold_emotion, result.emotion) if label is not None}
    order = (*labels, *sorted(seen - set(labels)))
    pairs = Counter((result.gold_emotion, result.emotion) for result in kept if result.status == "ok")
    failed = Counter(result.gold_emotion for result in kept if result.status != "ok")
    return Confusion(
        labels=order,
        counts=tuple(tuple(pairs[gold, forecast] for forecast in order) for gold in order),
        failed=tuple(failed[gold] for gold in order),
    )
