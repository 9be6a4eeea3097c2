"""Scores of the small empathetic model by hand, with n and interval."""

import pytest

from mmerg.scoring.intervals import wilson
from mmerg.sem.metrics import evaluate

CONSTANT = {"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}
TEN = list("aabcd" * 2)
NAMES = [f"talk {number}" for number in range(10)]


def test_accuracy_and_calibration_by_hand() -> None:
    scores = evaluate([CONSTANT] * 10, TEN, NAMES)
    assert {name: score.value for name, score in scores.items()} == pytest.approx({"top1": 40, "top3": 80, "ece": 0})
    assert {score.n for score in scores.values()} == {10}
    assert scores["top3"].interval == pytest.approx([100 * end for end in wilson(0.8, 10)])
    low, high = scores["ece"].interval or (0, 0)
    assert low == pytest.approx(0)
    assert 10 < high < 60
    assert evaluate([CONSTANT] * 2, TEN[:2], NAMES[:2])["ece"].value == pytest.approx(60)
