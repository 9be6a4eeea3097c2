"""How many forecasts differ between two runs, with an interval of their share."""

import pytest

from mmerg.runs.result import Result
from mmerg.scoring.changed import moved
from mmerg.scoring.intervals import wilson
from mmerg.scoring.paired import Pairing


def answers(*emotions: str | None, dialogues: int = 99) -> tuple[Result, ...]:
    return tuple(
        Result(id=f"d{n}", dialogue=f"d{n % dialogues}", status="ok", emotion=emotion)
        for n, emotion in enumerate(emotions)
    )


def test_forecasts_that_differ_are_counted_where_both_have_one() -> None:
    a = answers("joy", "joy", "anger", None, "fear")
    b = answers("joy", "anger", "joy", "joy", None)
    found = moved(Pairing(a, b, 0, 0))
    assert (found.samples, found.differ) == (3, 2)
    low, high = wilson(2 / 3, 3)
    assert found.interval == pytest.approx((100 * low, 100 * high))
    assert found.told() == f"forecasts that differ: 2 of 3 (66.7 %, 95 % interval {100 * low:.1f} to {100 * high:.1f})"


def test_samples_of_one_dialogue_count_less() -> None:
    a, b = ["joy"] * 12, ["joy", "anger"] * 6
    apart = moved(Pairing(answers(*a), answers(*b), 0, 0)).interval
    together = moved(Pairing(answers(*a, dialogues=6), answers(*b, dialogues=6), 0, 0)).interval
    assert apart
    assert together
    assert together[1] - together[0] > apart[1] - apart[0]


def test_systems_without_forecasts_have_none() -> None:
    assert moved(Pairing(answers(None), answers("joy"), 0, 0)).samples == 0
    assert moved(Pairing((), (), 0, 0)).interval is None
