"""How well the emotion of the hidden target turn is forecast: accuracy, F1, and what is taken for what.

MERG, arXiv 2604.18988, section 4: the emotion that the response should carry, against the label of the real next turn.
×100, higher is better. Its accuracy of 83.87 on IEMOCAP is 26 of 31.

    score(accuracy(), run.answers).value
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from mmerg.runs.result import Result
from mmerg.scoring.metric import Counts, Floats, Mask, Metric, Value, rate
from mmerg.scoring.score import Confusion

TINY = 1e-12  # in place of a count of 0, by which nothing can be divided


def accuracy(*, ok_only: bool = False) -> Metric:
    """Correct forecasts over samples with a gold label. A failed sample is wrong (TRACE leaves these out, which
    `ok_only` does); a sample without a gold label does not count. Without a single forecast there is no figure: the
    system has no such stage."""
    over_all = rate(
        "acc_ok" if ok_only else "acc",
        f"label:target|failed:{'left-out' if ok_only else 'wrong'}|scale:100",
        "a gold label and a forecast" + ("" if ok_only else ", or a failure"),
        lambda result: 100.0 * (result.ok and result.emotion == result.gold_emotion),
        interval_by="wilson",
        higher_is_better=True,
    )
    return replace(over_all, counted=partial(labelled, failed=not ok_only))


def f1(weighted: bool = False) -> Metric:
    """The F1 of each emotion that occurs among the gold labels, 2·hits / (gold + forecasts), averaged, ×100: with equal
    weights (macro_f1) rare emotions weigh as much as neutral, else in proportion to gold (weighted_f1). As
    scikit-learn's `f1_score(labels=…, average=…, zero_division=0)`.

    A label that is forecast and never gold has no F1 of its own; it costs recall of the others. A failed sample is a
    forecast of none of them. Any draw of the results is over the labels of all of them, with an F1 of 0 for one that
    the draw lacks: else a rare label that is missed would come and go."""

    def ready(results: Sequence[Result]) -> Value:
        labels = sorted({result.gold_emotion for result in results if result.gold_emotion is not None})
        hits, missed, wrong = label_counts(results, labels)

        def mean(sums: Floats) -> Floats:
            hits, errors, gold = np.split(sums, 3)
            of_each = 200 * hits / np.maximum(2 * hits + errors, TINY)
            return np.average(of_each, axis=0, weights=gold if weighted else np.ones_like(gold))

        parts = np.concatenate([hits, missed + wrong, hits + missed])
        return Counts(parts, mean, labels=len(labels))

    return Metric(
        name="weighted_f1" if weighted else "macro_f1",
        signature="label:target|labels:in-gold|failed:wrong|scale:100",
        needs="a gold label and a forecast, or a failure",
        counted=partial(labelled, failed=True),
        ready=ready,
        higher_is_better=True,
    )


def label_counts(results: Sequence[Result], labels: Sequence[str]) -> Floats:
    """Shape [3, labels, results]: whether each result is a hit of each label, misses it, or names it wrongly."""
    gold = np.array([[result.gold_emotion == label for result in results] for label in labels], float)
    named = np.array([[result.ok and result.emotion == label for result in results] for label in labels], float)
    return np.array([gold * named, gold * (1 - named), named * (1 - gold)])


def labelled(results: Sequence[Result], *, failed: bool) -> Mask:
    """Which results a forecast can be judged for: those with a gold label and a forecast; with `failed` all that have a
    gold label, one without a forecast being wrong. None where no result has a forecast, as not all failed."""
    gold = np.array([result.gold_emotion is not None for result in results], bool)
    forecast = np.array([result.ok and result.emotion is not None for result in results], bool)
    if not forecast.any() and any(result.ok for result in results):
        return forecast
    return gold if failed else gold & forecast


def confusion(results: Sequence[Result], labels: Sequence[str]) -> Confusion | None:
    """Which emotion is taken for which, over the samples that `acc` is over. Rows and columns in the order of
    `labels` (the dataset's), any other label that occurs behind them. None where accuracy has no figure, either."""
    kept = [result for result, counts in zip(results, labelled(results, failed=True), strict=True) if counts]
    if not kept:
        return None
    occurring = {label for result in kept for label in (result.gold_emotion, result.emotion) if label is not None}
    order = (*labels, *sorted(occurring - set(labels)))
    pairs = Counter((result.gold_emotion, result.emotion) for result in kept if result.ok)
    failed = Counter(result.gold_emotion for result in kept if not result.ok)
    return Confusion(
        labels=order,
        counts=tuple(tuple(pairs[gold, forecast] for forecast in order) for gold in order),
        failed=tuple(failed[gold] for gold in order),
    )
