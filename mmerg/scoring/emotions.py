"""Metrics of emotion forecasts: accuracy, F1 and the confusion matrix. ×100, higher is better.

A forecast is the emotion that the reply should carry. The gold label is the emotion of the real next turn (MERG, arXiv
2604.18988, section 4, whose accuracy of 83.87 on IEMOCAP is 26 of 31).

    accuracy(), f1(weighted=True), *class_metrics("joy")    # used as shown in `metric`
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from mmerg.runs.result import Result
from mmerg.scoring.metric import Counts, Floats, Mask, Metric, Value, mean, rate
from mmerg.scoring.score import Confusion

NEUTRAL = "neutral"
CLASS_METRICS = ("precision", "recall", "f1")  # of a label
TINY = 1e-12  # stands for a count of 0 in a denominator


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
        gold = np.array([[result.gold_emotion == label for result in results] for label in labels], float)
        forecast = np.array([[result.ok and result.emotion == label for result in results] for label in labels], float)
        hits = gold * forecast

        def average(sums: Floats) -> Floats:
            hits, errors, gold = np.split(sums, 3)
            by_label = 200 * hits / np.maximum(2 * hits + errors, TINY)
            return np.average(by_label, axis=0, weights=gold if weighted else np.ones_like(gold))

        return Counts(np.concatenate([hits, gold + forecast - 2 * hits, gold]), average, labels=len(labels))

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

    return [
        Metric(
            name=name,
            signature=f"label:target|{description.replace(' ', '-')}|scale:100",
            needs="a gold label and a forecast, or a failure",
            mask=_mask_judged,
            prepare=partial(prepare, name),
            interval_by="bootstrap" if name == "acc_prior" else "wilson",
        )
        for name, description in BASELINES.items()
        if name != "acc_neutral" or NEUTRAL in labels
    ]


def describe_baselines(values: Mapping[str, float | None]) -> str:
    """Describes the values of `baseline_metrics` by name; "" without any."""
    parts = ((text, values.get(name)) for name, text in BASELINES.items())
    return ", ".join(f"{text} {value:.2f}" for text, value in parts if value is not None)


def class_metrics(label: str) -> list[Metric]:
    """Makes precision, recall and F1 of a label (precision:joy, recall:joy, f1:joy), ×100, as scikit-learn's
    `precision_recall_fscore_support`. Without samples with that forecast or gold label a metric has no value."""

    def is_gold(result: Result) -> float:
        return float(result.gold_emotion == label)

    def is_forecast(result: Result) -> float:
        return float(result.gold_emotion is not None and result.ok and result.emotion == label)

    def is_hit(result: Result) -> float:
        return is_gold(result) * is_forecast(result)

    signature = f"label:{label}|failed:wrong|scale:100"
    share = partial(rate, interval_by="wilson", higher_is_better=True)
    return [
        share(f"precision:{label}", signature, f"the forecast {label}", lambda r: 100 * is_hit(r), is_forecast),
        share(f"recall:{label}", signature, f"the gold label {label}", lambda r: 100 * is_hit(r), is_gold),
        rate(
            f"f1:{label}",
            signature,
            f"the label {label}",
            lambda result: 2 * is_hit(result),
            lambda result: is_gold(result) + is_forecast(result),
            higher_is_better=True,
            pooled=True,
        ),
    ]


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
