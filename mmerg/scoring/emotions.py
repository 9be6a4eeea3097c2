"""Metrics of emotion forecasts: accuracy, F1 and the confusion matrix. ×100, higher is better.

A forecast is the emotion that the reply should carry. The gold label is the emotion of the real next turn (MERG, arXiv
2604.18988, section 4, whose accuracy of 83.87 on IEMOCAP is 26 of 31).

    accuracy(), f1(weighted=True), *class_metrics(["joy", "sadness"])    # used as shown in `metric`
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from mmerg.runs.result import Result
from mmerg.scoring.metric import Counts, Floats, Mask, Metric, Value, mean, pooled_percentage
from mmerg.scoring.score import Confusion

NEUTRAL = "neutral"
# The rows of `_count_labels` with the errors that count in the denominator: 1 missed, 2 wrongly forecast.
CLASS_METRICS = {"precision": [2], "recall": [1], "f1": [1, 2]}
TINY = 1e-12  # stands for a count of 0 in a denominator


def _count_labels(results: Sequence[Result], labels: Sequence[str]) -> Floats:
    """Returns shape [3, labels, results], of 0 and 1: the results that forecast a label rightly, miss it, or forecast
    it wrongly. A failed sample has no forecast."""
    gold = np.array([[result.gold_emotion == label for result in results] for label in labels], float)
    forecast = np.array([[result.ok and result.emotion == label for result in results] for label in labels], float)
    return np.array([gold * forecast, gold * (1 - forecast), forecast * (1 - gold)])


def _mask_judged(results: Sequence[Result], *, failed: bool = True) -> Mask:
    """Selects the results that count for accuracy: those with a gold label and, without `failed`, a forecast. With
    `failed`, a missing forecast is wrong. If the system makes no forecasts, no result counts."""
    has_forecast = np.array([result.ok and result.emotion is not None for result in results], bool)
    if not has_forecast.any() and any(result.ok for result in results):
        return has_forecast
    has_gold = np.array([result.gold_emotion is not None for result in results], bool)
    return has_gold if failed else has_gold & has_forecast


def accuracy(*, ok_only: bool = False) -> Metric:
    """Measures the share of correct forecasts among the samples with a gold label; others do not count. A failed sample
    is wrong, or with `ok_only` skipped, as in TRACE."""
    return Metric(
        "acc_ok" if ok_only else "acc",
        f"label:target|failed:{'skipped' if ok_only else 'wrong'}|scale:100",
        "a gold label and a forecast" + ("" if ok_only else ", or a failure"),
        mask=partial(_mask_judged, failed=not ok_only),
        prepare=lambda results: mean(
            [100.0 * (result.ok and result.emotion == result.gold_emotion) for result in results]
        ),
        interval_by="wilson",
        higher_is_better=True,
    )


def f1(weighted: bool = False) -> Metric:
    """Measures the mean F1 of the gold labels, ×100, as scikit-learn's `f1_score(average=…, zero_division=0)`.

    The F1 of a label is 2·hits / (gold + forecasts). In macro_f1 all labels weigh the same, so rare emotions count as
    much as neutral. In weighted_f1 they weigh by their number of gold labels.

    A label that is never gold has no F1; forecasting it lowers the recall of others. A failed sample forecasts nothing.
    A bootstrap draw averages over the labels of all results; labels that are missing in the draw have an F1 of 0.
    """

    def prepare(results: Sequence[Result]) -> Value:
        labels = sorted({result.gold_emotion for result in results if result.gold_emotion is not None})
        hits, missed, wrong = _count_labels(results, labels)

        def average(sums: Floats) -> Floats:
            hits, errors, gold = np.split(sums, 3)
            by_label = 200 * hits / np.maximum(2 * hits + errors, TINY)
            return np.average(by_label, axis=0, weights=gold if weighted else np.ones_like(gold))

        parts = np.concatenate([hits, missed + wrong, hits + missed])
        return Counts(parts, average, labels=len(labels))

    return Metric(
        name="weighted_f1" if weighted else "macro_f1",
        signature="label:target|labels:in-gold|failed:wrong|scale:100",
        needs="a gold label and a forecast, or a failure",
        mask=_mask_judged,
        prepare=prepare,
        higher_is_better=True,
    )


BASELINES = {"acc_majority": "majority label", "acc_neutral": "always neutral", "acc_prior": "random by prior"}


def baseline_metrics(labels: Sequence[str]) -> list[Metric]:
    """Makes the metrics of baselines that read no dialogue: their accuracy on the samples of `accuracy`.

    acc_majority always forecasts the most frequent gold label. acc_neutral always forecasts neutral, if this is one of
    the dataset's `labels`. acc_prior draws forecasts from the frequencies of the gold labels (its value is the expected
    accuracy).
    """

    def prepare(name: str, results: Sequence[Result]) -> Value:
        golds = [result.gold_emotion for result in results]
        counts = Counter(golds)
        if name == "acc_prior":
            codes = np.array(list(map(list(counts).index, golds)))
            return lambda drawn: 100.0 * float(np.sum((np.bincount(codes[drawn]) / len(drawn)) ** 2))
        label = NEUTRAL if name == "acc_neutral" else counts.most_common(1)[0][0]
        return mean([100.0 * (gold == label) for gold in golds])

    def mask(name: str, results: Sequence[Result]) -> Mask:
        return _mask_judged(results) & (name != "acc_neutral" or NEUTRAL in labels)

    needs = "a gold label and a forecast, or a failure"
    return [
        Metric(
            name=name,
            signature=f"label:target|{description.replace(' ', '-')}|scale:100",
            needs=f"{needs}, and a label neutral to choose" if name == "acc_neutral" else needs,
            mask=partial(mask, name),
            prepare=partial(prepare, name),
            interval_by="bootstrap" if name == "acc_prior" else "wilson",
        )
        for name, description in BASELINES.items()
    ]


def describe_baselines(values: Mapping[str, float | None]) -> str:
    """Describes the values of `baseline_metrics` by name; "" without any."""
    parts = ((text, values.get(name)) for name, text in BASELINES.items())
    return ", ".join(f"{text} {value:.2f}" for text, value in parts if value is not None)


def class_metrics(labels: Sequence[str]) -> Iterator[Metric]:
    """Yields precision, recall and F1 of each label (precision:joy, recall:joy, f1:joy, …), ×100, as scikit-learn's
    `precision_recall_fscore_support`. Without samples with that forecast or gold label a metric has no value."""

    def prepare(label: str, wrong: Sequence[int], results: Sequence[Result]) -> Value:
        counts = _count_labels(results, [label])[:, 0]
        if len(wrong) == 1:
            return mean(100 * counts[0])
        return pooled_percentage(2 * counts[0], 2 * counts[0] + counts[wrong].sum(axis=0))

    def mask(label: str, wrong: Sequence[int], results: Sequence[Result]) -> Mask:
        return _mask_judged(results) & _count_labels(results, [label])[[0, *wrong], 0].any(axis=0)

    for label in labels:
        needs = {"precision": f"the forecast {label}", "recall": f"the gold label {label}", "f1": f"the label {label}"}
        for name, wrong in CLASS_METRICS.items():
            yield Metric(
                name=f"{name}:{label}",
                signature=f"label:{label}|failed:wrong|scale:100",
                needs=needs[name],
                mask=partial(mask, label, wrong),
                prepare=partial(prepare, label, wrong),
                interval_by="bootstrap" if name == "f1" else "wilson",
                higher_is_better=True,
            )


def build_confusion(results: Sequence[Result], labels: Sequence[str]) -> Confusion | None:
    """Counts the confusion matrix over the samples of `accuracy`; None if accuracy has no value. labels: the dataset's,
    which come first; any other label follows."""
    kept = [result for result, counts in zip(results, _mask_judged(results), strict=True) if counts]
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
