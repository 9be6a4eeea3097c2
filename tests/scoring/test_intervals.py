"""Intervals against statsmodels, simulation and theory."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.scoring.distinct import distinct
from mmerg.scoring.emotions import accuracy, f1
from mmerg.scoring.intervals import Interval, compute_interval, wilson
from mmerg.scoring.metric import IntervalBy, Metric, Value, mean, ratio
from tests.scoring.results import compute, forecasts, replies


def apart(n: int) -> list[str]:
    """Each sample has a dialogue of its own."""
    return [f"d{number}" for number in range(n)]


def grouped(n: int, each: int) -> list[str]:
    """`each` neighbouring samples share a dialogue."""
    return [f"d{number // each}" for number in range(n)]


def interval_of_mean(by: IntervalBy, values: Sequence[float], dialogues: list[str], resamples: int = 10) -> Interval:
    return compute_interval(by, mean(values), dialogues, resamples=resamples, seed=0)


def ends(result: Interval) -> tuple[float, float]:
    assert result.ends is not None
    return result.ends


@pytest.mark.parametrize(("right", "n"), [(26, 31), (0, 5), (700, 2610)])
def test_wilsons_interval_equals_that_of_statsmodels(right: int, n: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    expected = proportion_confint(right, n, method="wilson")
    assert wilson(right / n, n) == pytest.approx(expected, abs=1e-12)
    result = interval_of_mean("wilson", [100.0] * right + [0.0] * (n - right), apart(n))
    assert ends(result) == pytest.approx([100 * end for end in expected])
    assert result.method == "wilson"


def test_samples_of_one_dialogue_count_less() -> None:
    few = (1.959964 / 2.570582) ** 2  # (z/t)² of 6 dialogues
    together = interval_of_mean(
        "wilson", [100.0] * 30 + [0.0] * 30, grouped(60, 10)
    )  # a dialogue is all right or all wrong
    # between-dialogue variance 6/5 · 6 · 5² / 60², so n is 0.25 over it
    assert together.method == f"wilson, effective n {5 * few:.1f} of 6 dialogues"
    assert together.ends == pytest.approx([100 * end for end in wilson(0.5, 5 * few)])
    result = interval_of_mean(
        "wilson", [100.0, 0.0] * 30, grouped(60, 10)
    )  # dialogues do not differ: all samples count
    assert result.ends == pytest.approx([100 * end for end in wilson(0.5, 60 * few)])


def coverage(draw: Callable[[np.random.Generator], tuple[Value, list[str]]], by: IntervalBy, truth: float) -> float:
    """The share of intervals of drawn data that contain the truth."""
    rng, hits = np.random.default_rng(7), 0
    for _ in range(150):
        low, high = compute_interval(by, *draw(rng), resamples=200, seed=0).ends or (1.0, 0.0)
        hits += low <= truth <= high
    return hits / 150


def test_intervals_of_shares_cover_few_or_rare_dialogues() -> None:
    for share, count in ((0.6, 6), (0.02, 30)):  # correlation within a dialogue 0.17 and 0.6
        a, b = (3.0, 2.0) if share == 0.6 else (share / 1.5, (1 - share) / 1.5)
        assert coverage(lambda rng, n=count, a=a, b=b: beta_shares(rng, n, a, b), "wilson", 100 * share) > 0.93  # type: ignore[misc]


def beta_shares(rng: np.random.Generator, count: int, a: float, b: float) -> tuple[Value, list[str]]:
    """Ten samples per dialogue; each dialogue has another share."""
    right = rng.random(10 * count) < np.repeat(rng.beta(a, b, count), 10)
    return mean((100.0 * right).tolist()), grouped(10 * count, 10)


def test_intervals_of_skewed_means_and_macro_f1_cover() -> None:
    """Intervals by percentiles would cover 83 to 90 %."""
    assert coverage(lambda rng: (mean(rng.exponential(size=15)), apart(15)), "bootstrap", 1.0) > 0.93

    gold, right = np.array([0.5, 0.2, 0.2, 0.1]), np.array([0.8, 0.5, 0.5, 0.1])

    def few_forecasts(rng: np.random.Generator) -> tuple[Value, list[str]]:
        labels = np.concatenate([np.arange(4), rng.choice(4, size=36, p=gold)])
        named = np.where(rng.random(40) < right[labels], labels, rng.integers(1, 4, 40) + labels) % 4
        results = forecasts(*[(f"l{label}", f"l{name}") for label, name in zip(labels, named, strict=True)])
        return f1().prepare(results), apart(40)

    shares = (gold * 36 + 1) / 40
    joint = shares[:, None] * np.where(np.eye(4, dtype=bool), right, ((1 - right) / 3)[:, None])
    truth = float(np.mean(200 * np.diag(joint) / (joint.sum(0) + joint.sum(1))))
    assert coverage(few_forecasts, "bootstrap", truth) > 0.93


def test_intervals_do_not_exceed_possible_values() -> None:
    """A perplexity is at least 1: without this bound, the interval would begin at 0.6."""
    value = ratio([20, 8, 9, 10, 11, 12, 10, 9, 8, 2, 3, 30], [10] * 9 + [100] * 3, np.exp)
    low, high = ends(compute_interval("bootstrap", value, apart(12), resamples=200, seed=0))
    assert (low, high) == pytest.approx((1.0, 1.90), abs=0.01)


def test_the_standard_error_of_the_jackknife_is_that_of_new_samples() -> None:
    """There are 60 corpora of 60 replies each, drawn from a Zipf-like vocabulary."""
    rng = np.random.default_rng(1)
    weights = 1 / np.arange(1, 2001) ** 1.05
    weights /= weights.sum()
    estimates, intervals = [], []
    for _ in range(60):
        texts = [" ".join(map(str, rng.choice(2000, size=rng.integers(5, 20), p=weights))) for _ in range(60)]
        value = distinct(1, "whitespace").prepare(replies(*texts))
        intervals.append(ends(compute_interval("jackknife", value, apart(60), resamples=10, seed=0)))
        estimates.append(value(np.arange(60)))
    errors = [(high - low) / 2 / 1.96 for low, high in intervals]
    assert 0.9 < np.mean(errors) / np.std(estimates) < 1.35
    assert np.mean([low <= np.mean(estimates) <= high for low, high in intervals]) > 0.9


@pytest.mark.parametrize("by", ["wilson", "bootstrap", "jackknife"])
def test_one_dialogue_has_no_interval(by: IntervalBy) -> None:
    for n in (1, 3):
        assert interval_of_mean(by, [100.0] * n, ["d"] * n) == (
            None,
            "",
            "no interval: all samples are from one dialogue",
        )


@pytest.mark.parametrize("by", ["bootstrap", "jackknife"])
def test_resampling_needs_ten_dialogues(by: IntervalBy) -> None:
    """Intervals of fewer dialogues cover the truth too seldom: at most 75 % for distinct n-grams of 5 replies."""
    values = list(map(float, range(10)))
    for count in (2, 5, 9):
        assert interval_of_mean(by, values[:count], apart(count)) == (None, "", "no interval: fewer than 10 dialogues")
    assert interval_of_mean(by, values, apart(10), 200).ends


@pytest.mark.parametrize("by", ["bootstrap", "jackknife"])
def test_constant_values_have_no_interval(by: IntervalBy) -> None:
    for value in (0.0, 0.1, 100.0):
        why = "no interval: it would have no width, every draw giving the same"
        assert interval_of_mean(by, [value] * 12, apart(12), resamples=30) == (None, "", why)


METRICS: list[Metric] = [
    accuracy(),
    distinct(1, "whitespace"),
    distinct(1, "whitespace", adjusted=True),
]


@settings(max_examples=20)
@given(
    st.lists(
        st.lists(st.sampled_from(["so", "it", "is"]), min_size=1, max_size=5).map(" ".join), min_size=2, max_size=9
    ),
    st.sampled_from(METRICS),
    st.integers(0, 3),
    st.data(),
)
def test_an_interval_contains_the_estimate_and_stays_within_bounds(
    texts: list[str], metric: Metric, seed: int, data: st.DataObject
) -> None:
    results = replies(*texts)
    if metric.name == "acc":
        results = forecasts(*[("joy", "joy" if "so" in text else "fear") for text in texts])
    names = data.draw(st.lists(st.sampled_from("abc"), min_size=len(texts), max_size=len(texts)))
    result = compute_interval(metric.interval_by, metric.prepare(results), names, resamples=20, seed=seed)
    if len(set(names)) == 1 or metric.interval_by == "wilson":
        assert (result.ends is None) == (len(set(names)) == 1)
    assert bool(result.ends) != bool(result.why)
    if result.ends:
        low, high = result.ends
        assert 0 <= low <= compute(metric, results) <= high <= max(100.0, compute(metric, results))
        assert result == compute_interval(metric.interval_by, metric.prepare(results), names, resamples=20, seed=seed)
