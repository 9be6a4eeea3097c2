"""Accuracy, F1, baselines and the confusion matrix, by hand and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support

from mmerg.scoring.emotions import accuracy, baseline_metrics, build_confusion, class_metrics, f1
from tests.scoring.results import compute, count, forecasts

MIXED = forecasts(
    ("joy", "joy"), ("joy", "sadness"), ("sadness", "sadness"), (None, "joy"), "sadness", ("anger", "fear")
)
LABELS = ("neutral", "joy", "sadness")
LABEL = st.sampled_from(["joy", "fear", "anger"])


def test_a_failed_sample_is_wrong_and_one_without_a_gold_label_does_not_count() -> None:
    assert (compute(accuracy(), MIXED), count(accuracy(), MIXED)) == (40.0, 5)
    assert (compute(accuracy(ok_only=True), MIXED), count(accuracy(ok_only=True), MIXED)) == (50.0, 4)


@given(st.lists(st.one_of(LABEL, st.tuples(LABEL, LABEL)), min_size=1, max_size=12), st.data())
def test_scores_of_draws_equal_those_of_scikit_learn(pairs: list[str | tuple[str, str]], data: st.DataObject) -> None:
    """F1 averages over the labels of all results, also of those that are not drawn."""
    results, indices = forecasts(*pairs), data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=12))
    both = [(pair, "failed") if isinstance(pair, str) else pair for pair in pairs]
    gold, forecast = zip(*(both[index] for index in indices), strict=True)
    labels = sorted({gold for gold, _ in both})
    assert accuracy().prepare(results)(np.array(indices)) == pytest.approx(100 * accuracy_score(gold, forecast))
    for metric, average in ((f1(), "macro"), (f1(weighted=True), "weighted")):
        expected = 100 * f1_score(gold, forecast, labels=labels, average=average, zero_division=0)
        assert metric.prepare(results)(np.array(indices)) == pytest.approx(expected)


@given(st.lists(st.tuples(LABEL, LABEL), min_size=1, max_size=12))
def test_scores_by_label_equal_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    gold, forecast = zip(*pairs, strict=True)
    labels, results = sorted(set(gold)), forecasts(*pairs)
    expected = precision_recall_fscore_support(gold, forecast, labels=labels, zero_division=0)
    found = {metric.name: metric for label in labels for metric in class_metrics(label)}
    for index, label in enumerate(labels):
        for name, values in zip(("precision", "recall", "f1"), expected, strict=False):
            metric = found[f"{name}:{label}"]
            if count(metric, results):  # precision has no value if nothing was forecast
                assert compute(metric, results) == pytest.approx(100 * values[index])
        assert count(found[f"recall:{label}"], results) == expected[3][index]


def test_baselines_are_over_the_samples_of_accuracy() -> None:
    results = forecasts(*[("neutral", "joy")] * 5, *["neutral"], *[("joy", "joy")] * 3, ("fear", "joy"), (None, "joy"))
    found = {metric.name: (compute(metric, results), count(metric, results)) for metric in baseline_metrics(LABELS)}
    prior = 100 * (0.6**2 + 0.3**2 + 0.1**2)
    assert found == {"acc_majority": (60, 10), "acc_neutral": (60, 10), "acc_prior": (pytest.approx(prior), 10)}
    assert [metric.name for metric in baseline_metrics(("joy", "fear"))] == ["acc_majority", "acc_prior"]


def test_without_forecasts_there_is_no_accuracy() -> None:
    silent = [*forecasts(("joy", None), ("fear", None)), *forecasts("joy")]
    assert [count(metric, silent) for metric in (accuracy(), accuracy(ok_only=True), f1())] == [0, 0, 0]
    assert build_confusion(silent, LABELS) is None
    assert build_confusion([], LABELS) is None


def test_the_confusion_matrix_counts_the_samples_of_accuracy() -> None:
    found = build_confusion(MIXED, LABELS)
    assert found is not None
    assert found.labels == ("neutral", "joy", "sadness", "anger", "fear")
    assert found.counts == ((0,) * 5, (0, 1, 1, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 0, 1), (0,) * 5)
    assert found.failed == (0, 0, 1, 0, 0)
    assert sum(map(sum, found.counts)) + sum(found.failed) == count(accuracy(), MIXED)
