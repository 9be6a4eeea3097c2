"""Intervals: against statsmodels, against simulation, and what always holds."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.scoring.distinct import adjusted, distinct
from mmerg.scoring.emotions import accuracy
from mmerg.scoring.intervals import interval, wilson
from mmerg.scoring.metric import IntervalBy, Metric, Ratio, Value
from tests.scoring.answers import figure, forecasts, replies


def means(values: list[float]) -> Value:
    return Ratio(np.array(values, float), np.ones(len(values)))


def apart(n: int) -> list[str]:
    """A dialogue a sample."""
    return [f"d{number}" for number in range(n)]


@pytest.mark.parametrize(("right", "n"), [(26, 31), (0, 5), (5, 5), (1, 2), (700, 2610)])
def test_wilson_is_that_of_statsmodels(right: int, n: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    expected = proportion_confint(right, n, method="wilson")
    assert wilson(right / n, n) == pytest.approx(expected, abs=1e-12)
    values = [100.0] * right + [0.0] * (n - right)
    found = interval("wilson", means(values), apart(n), resamples=10, seed=0)
    assert found.ends == pytest.approx([100 * end for end in expected])
    assert found.method == "wilson"


def test_the_paper_s_interval_is_67_to_93_percent() -> None:
    answers = forecasts(*[("joy", "joy")] * 26, *[("joy", "fear")] * 5)
    found = interval("wilson", accuracy().ready(answers), apart(31), resamples=10, seed=0)
    assert found.ends is not None
    assert [round(end) for end in found.ends] == [67, 93]


def test_samples_of_one_dialogue_count_less() -> None:
    alike = [100.0] * 30 + [0.0] * 30
    dialogues = [f"d{number // 10}" for number in range(60)]  # in each all are right, or all wrong
    together = interval("wilson", means(alike), dialogues, resamples=10, seed=0)
    # 6 dialogues of one mind: between-dialogue variance 6/5 · 6 · 5² / 60², so n is 0.25 over it, times (z/t)² for 6
    few = (1.959964 / 2.570582) ** 2
    assert together.method == f"wilson, effective n {5 * few:.1f} of 6 dialogues"
    assert together.ends == pytest.approx([100 * end for end in wilson(0.5, 5 * few)])
    mixed = interval("wilson", means([100.0, 0.0] * 30), dialogues, resamples=10, seed=0)
    assert mixed.ends == pytest.approx(
        [100 * end for end in wilson(0.5, 60 * few)]
    )  # they differ by nothing: all count
    never = interval("wilson", means([0.0] * 60), dialogues, resamples=10, seed=0)
    assert never.ends == pytest.approx([100 * end for end in wilson(0, 60 * few)])


def test_two_dialogues_of_two_samples_are_too_few_to_tell() -> None:
    """(z/t)² of them is 0.024: all four samples tell less than a single one of its own."""
    found = interval("wilson", means([100.0, 0.0] * 2), ["d0", "d0", "d1", "d1"], resamples=10, seed=0)
    assert found.method == "wilson, effective n under 1 of 2 dialogues, too few to tell"
    assert found.ends
    assert found.ends[1] - found.ends[0] > 97


def test_one_miss_does_not_make_a_share_better_known() -> None:
    """Five dialogues of ten samples: all alike, they count as those that differ by next to nothing do."""
    dialogues = [f"d{number // 10}" for number in range(50)]
    found = {}
    for missed in range(4):
        values = [0.0] * missed + [100.0] * (50 - missed)
        spread_out = [values[(number * 7) % 50] for number in range(50)]  # a miss a dialogue
        found[missed] = interval("wilson", means(spread_out), dialogues, resamples=10, seed=0).ends
    lows = [ends[0] for ends in found.values() if ends]
    assert lows == sorted(lows, reverse=True)
    assert lows[0] == pytest.approx(100 / (1 + 2.776445**2 / 50), abs=0.01)  # 86.6: Wilson's of all right, z as t
    assert lows[0] - lows[1] < 5


def test_a_little_less_alike_is_a_little_less_known() -> None:
    """Dialogues with the same share know no less than dialogues with nearly the same."""
    dialogues = ["a"] * 100 + ["b"] * 100
    widths = []
    for right in (50, 51):
        values = [100.0] * 50 + [0.0] * 50 + [100.0] * right + [0.0] * (100 - right)
        ends = interval("wilson", means(values), dialogues, resamples=10, seed=0).ends
        assert ends is not None
        widths.append(ends[1] - ends[0])
    assert widths[0] == pytest.approx(widths[1], rel=0.01)


def covered(by: IntervalBy, count: int, each: int) -> float:
    """How often the interval of `count` dialogues of `each` samples holds the true share, or mean."""
    draw, held = np.random.default_rng(7), 0
    for _ in range(300):
        own = np.repeat(draw.beta(3, 2, count), each)
        values = 100.0 * (draw.random(count * each) < own) if by == "wilson" else own
        dialogues = [f"d{number // each}" for number in range(count * each)]
        ends = interval(by, means(list(values)), dialogues, resamples=300, seed=0).ends
        held += ends is not None and ends[0] <= (60.0 if by == "wilson" else 0.6) <= ends[1]
    return held / 300


def test_intervals_of_few_dialogues_hold_the_truth() -> None:
    assert covered("wilson", 6, 10) > 0.93
    assert covered("bootstrap", 6, 1) > 0.91


def test_a_bootstrap_of_a_mean_is_as_wide_as_its_normal_interval() -> None:
    values = list(np.random.default_rng(5).normal(50, 10, 400))
    found = interval("bootstrap", means(values), apart(400), resamples=2000, seed=0)
    assert found.ends is not None
    half = 1.96 * np.std(values) / sqrt(400)
    assert found.ends == pytest.approx([np.mean(values) - half, np.mean(values) + half], abs=0.15)


def test_a_bootstrap_draws_dialogues_and_not_samples() -> None:
    values = [float(number // 20) for number in range(100)]
    dialogues = [f"d{number // 20}" for number in range(100)]
    whole = interval("bootstrap", means(values), dialogues, resamples=500, seed=0).ends
    naive = interval("bootstrap", means(values), apart(100), resamples=500, seed=0).ends
    assert whole is not None
    assert naive is not None
    assert whole[1] - whole[0] > 3 * (naive[1] - naive[0])


def test_a_bootstrap_of_distinct_n_grams_would_miss_the_estimate() -> None:
    """Why these have a jackknife."""
    rng = np.random.default_rng(2)
    texts = [" ".join(map(str, rng.zipf(1.3, 12) % 3000)) for _ in range(60)]
    value = distinct(1, "whitespace").ready(replies(*texts))
    drawn = [rng.integers(60, size=60) for _ in range(200)]
    assert max(map(value, drawn)) < value(np.arange(60))


@pytest.mark.parametrize("n", [1, 2])
def test_the_jackknife_s_standard_error_is_that_of_new_samples(n: int) -> None:
    """Of 120 corpora of 60 replies each, drawn from a Zipf-like vocabulary."""
    rng = np.random.default_rng(1)
    weights = 1 / np.arange(1, 2001) ** 1.05
    weights /= weights.sum()
    estimates, errors, ends = [], [], []
    for _ in range(120):
        texts = [" ".join(map(str, rng.choice(2000, size=rng.integers(5, 20), p=weights))) for _ in range(60)]
        value = distinct(n, "whitespace").ready(replies(*texts))
        found = interval("jackknife", value, apart(60), resamples=10, seed=0).ends
        assert found is not None
        estimates.append(value(np.arange(60)))
        errors.append((found[1] - found[0]) / 2 / 1.96)
        ends.append(found)
    assert 0.9 < np.mean(errors) / np.std(estimates) < 1.35
    centre = np.mean(estimates)
    assert np.mean([low <= centre <= high for low, high in ends]) > 0.9


def test_more_dialogues_than_groups_are_left_out_together() -> None:
    values = list(np.random.default_rng(3).normal(50, 10, 1000))
    found = interval("jackknife", means(values), apart(1000), resamples=10, seed=0)
    assert found.ends is not None
    assert found.method == "jackknife, 200 groups of 1000 dialogues, seed 0"
    half = (found.ends[1] - found.ends[0]) / 2
    assert half == pytest.approx(1.96 * np.std(values) / sqrt(1000), rel=0.2)


@pytest.mark.parametrize("by", ["wilson", "bootstrap", "jackknife"])
def test_one_dialogue_has_no_interval(by: str) -> None:
    for n in (1, 3):
        found = interval(by, means([100.0] * n), ["d"] * n, resamples=10, seed=0)  # type: ignore[arg-type]
        assert (found.ends, found.method) == (None, "")
        assert "one dialogue" in found.why


def test_a_jackknife_needs_ten_dialogues() -> None:
    """With fewer it holds the truth far too seldom: of new samples of 5 replies, in 3 of 4 cases at most."""
    rng = np.random.default_rng(4)
    value = distinct(1, "whitespace").ready(replies(*(" ".join(map(str, rng.zipf(1.5, 9))) for _ in range(10))))
    for count in (2, 5, 9):
        found = interval("jackknife", value, apart(count), resamples=10, seed=0)
        assert (found.ends, found.why) == (None, "no interval: a jackknife of fewer than 10 dialogues misleads")
    assert interval("jackknife", value, apart(10), resamples=10, seed=0).ends


@pytest.mark.parametrize("by", ["bootstrap", "jackknife"])
def test_what_never_changes_has_no_interval_of_no_width(by: IntervalBy) -> None:
    for value in (0.0, 0.1, 100.0):
        found = interval(by, means([value] * 12), apart(12), resamples=30, seed=0)
        assert (found.ends, found.method) == (None, "")
        assert found.why == "no interval: it would have no width, every draw giving the same"


METRICS: list[Metric] = [
    accuracy(),
    distinct(1, "whitespace"),
    distinct(1, "whitespace", "response"),
    adjusted(1, "whitespace", vocabulary=9),
]


@given(
    st.lists(
        st.lists(st.sampled_from(["so", "it", "is"]), min_size=1, max_size=5).map(" ".join), min_size=2, max_size=9
    ),
    st.sampled_from(METRICS),
    st.integers(0, 3),
    st.data(),
)
def test_the_interval_holds_the_estimate_and_stays_within_bounds(
    texts: list[str], metric: Metric, seed: int, data: st.DataObject
) -> None:
    answers = (
        replies(*texts)
        if metric.name != "acc"
        else forecasts(*[("joy", "joy" if "so" in text else "fear") for text in texts])
    )
    names = data.draw(st.lists(st.sampled_from("abc"), min_size=len(texts), max_size=len(texts)))
    found = interval(metric.interval_by, metric.ready(answers), names, resamples=20, seed=seed)
    if len(set(names)) == 1:
        assert found.ends is None
    if metric.interval_by == "wilson":
        assert (found.ends is None) == (len(set(names)) == 1)
    assert bool(found.ends) != bool(found.why)
    if found.ends:
        low, high = found.ends
        assert 0 <= low <= figure(metric, answers) <= high <= max(100.0, figure(metric, answers))
        assert found == interval(metric.interval_by, metric.ready(answers), names, resamples=20, seed=seed)
