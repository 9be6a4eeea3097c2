"""Accuracy, macro-F1 and the confusion of emotions, by hand and against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.scoring.emotions import accuracy, confusion, f1
from tests.scoring.answers import count, figure, forecasts

MIXED = forecasts(
    ("joy", "joy"), ("joy", "sadness"), ("sadness", "sadness"), (None, "joy"), "sadness", ("anger", "fear")
)
LABELS = ("neutral", "joy", "sadness")
LABEL = st.sampled_from(["joy", "fear", "anger"])


def test_a_failed_sample_is_wrong_and_one_without_a_gold_label_does_not_count() -> None:
    assert (figure(accuracy(), MIXED), count(accuracy(), MIXED)) == (40.0, 5)
    assert (figure(accuracy(ok_only=True), MIXED), count(accuracy(ok_only=True), MIXED)) == (50.0, 4)


def test_the_paper_s_accuracy_is_26_of_31() -> None:
    right, wrong = ("joy", "joy"), ("joy", "anger")
    assert round(figure(accuracy(), forecasts(*[right] * 26, *[wrong] * 5)), 2) == 83.87


def test_f1_by_hand() -> None:
    # joy: 1 hit, 2 gold, 1 forecast; sadness: 1 hit, 2 gold (1 failed), 2 forecasts; anger: no hit; fear: never gold
    assert figure(f1(), MIXED) == pytest.approx(100 * (2 / 3 + 2 / 4 + 0) / 3)
    assert count(f1(), MIXED) == 5


@given(st.lists(st.one_of(LABEL, st.tuples(LABEL, LABEL)), min_size=1, max_size=12), st.data())
def test_of_any_draw_they_are_what_they_are_defined_as(pairs: list[str | tuple[str, str]], data: st.DataObject) -> None:
    """F1 over the labels of the whole sample, as scikit-learn's `f1_score(labels=…, average="macro",
    zero_division=0)`."""
    answers, places = forecasts(*pairs), data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=12))
    both = [(pair, None) if isinstance(pair, str) else pair for pair in pairs]
    drawn = [both[place] for place in places]
    right = 100 * sum(gold == said for gold, said in drawn) / len(drawn)
    assert accuracy().ready(answers)(np.array(places)) == pytest.approx(right)
    scores = []
    for label in {gold for gold, _ in both}:
        hits = sum(gold == said == label for gold, said in drawn)
        named = sum((gold == label) + (said == label) for gold, said in drawn)
        scores.append(200 * hits / max(1, named))
    assert f1().ready(answers)(np.array(places)) == pytest.approx(sum(scores) / len(scores))


def test_draws_of_f1_lie_about_the_estimate_where_rare_labels_are_missed() -> None:
    answers = forecasts(*[("joy", "joy")] * 27, *[(rare, "joy") for rare in ("fear", "disgust", "anger")])
    value, draw = f1().ready(answers), np.random.default_rng(0)
    drawn = [value(draw.integers(30, size=30)) for _ in range(300)]
    assert np.mean(drawn) == pytest.approx(figure(f1(), answers), abs=0.5)


def test_a_system_that_forecasts_nothing_has_no_accuracy() -> None:
    silent = [*forecasts(("joy", None), ("fear", None)), *forecasts("joy")]
    assert [count(metric, silent) for metric in (accuracy(), accuracy(ok_only=True), f1())] == [0, 0, 0]
    assert confusion(silent, LABELS) is None
    assert confusion([], LABELS) is None


def test_all_failed_is_all_wrong() -> None:
    failed = forecasts("joy", "fear")
    assert (figure(accuracy(), failed), count(accuracy(), failed)) == (0.0, 2)
    assert (figure(f1(), failed), count(accuracy(ok_only=True), failed)) == (0.0, 0)


def test_the_confusion_counts_what_accuracy_counts() -> None:
    found = confusion(MIXED, LABELS)
    assert found is not None
    assert found.labels == ("neutral", "joy", "sadness", "anger", "fear")
    assert found.counts == ((0,) * 5, (0, 1, 1, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 0, 1), (0,) * 5)
    assert found.failed == (0, 0, 1, 0, 0)
    assert sum(map(sum, found.counts)) + sum(found.failed) == count(accuracy(), MIXED)
