"""Means over seeds: what is averaged, and what never is."""

from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.benching.drawn import means, notes
from mmerg.benching.measure import Row, Speed
from tests.benching.parts import bench, row, score, seeds, speed


@given(st.lists(st.floats(0, 100), min_size=2, max_size=5))
def test_each_figure_has_its_mean_and_standard_deviation(values: list[float]) -> None:
    rows = seeds(*values)
    [found] = means(rows)
    assert (found.rows, found.uneven) == (rows, [])
    assert found.figures["acc"].value == pytest.approx(fmean(values))
    assert found.figures["acc"].sd == pytest.approx(stdev(values))
    times = [10.0 + seed for seed in range(len(values))]
    assert found.figures["median"].value == pytest.approx(fmean(times))
    assert found.figures["median"].sd == pytest.approx(stdev(times))
    assert set(found.figures) == {"acc", "median", "p95", "prompt_tokens_s", "reply_tokens_s"}


@pytest.mark.parametrize(
    "rows",
    [
        seeds(40.0),
        [*seeds(40.0, version="0.24.0"), seeds(0.0, 60.0, version="0.33.0")[1]],
        [row("x"), row("y", seed=1)],
        [row("x"), row("x")],
        [row("x"), row("x", seed=1, protocol="another")],
        [row("x"), row("x", seed=1, num_ctx=4096)],
    ],
    ids=["one seed", "two versions", "two backbones", "one seed twice", "two protocols", "two contexts"],
)
def test_no_mean_over_what_differs_in_more_than_its_seed(rows: list[Row]) -> None:
    assert means(rows) == []


def test_engines_have_means_of_their_own() -> None:
    old, new = seeds(40.0, 50.0, version="0.24.0"), seeds(60.0, 80.0, version="0.33.0")
    found = means([*old, *new])
    assert [(mean.rows[0].engine.version, mean.figures["acc"].value) for mean in found] == [
        ("0.24.0", 45.0),
        ("0.33.0", 70.0),
    ]


@pytest.mark.parametrize("other", [score("acc", 50.0, 49), score("acc", None, 50), None])
def test_a_figure_that_not_all_have_alike_has_no_mean(other: object) -> None:
    first, second = seeds(40.0, 50.0)
    rows = [first, second.model_copy(update={"scores": {"acc": other} if other else {}, "speed": Speed()})]
    [found] = means(rows)
    assert found.figures == {}
    assert found.uneven == ["acc", "median", "p95", "prompt_tokens_s", "reply_tokens_s"]


def test_seconds_over_another_number_of_samples_have_no_mean() -> None:
    """A rate of tokens is each run's own, however many calls it made."""
    first, second = seeds(40.0, 50.0)
    of_one = second.model_copy(update={"speed": speed(11.0).model_copy(update={"samples": 1})})
    [found] = means([first, of_one])
    assert set(found.figures) == {"acc", "prompt_tokens_s", "reply_tokens_s"}
    assert found.uneven == ["median", "p95"]
    assert "x: no mean of s/sample median, s/sample p95: not all seeds have it over as many samples" in list(
        notes(bench(first, of_one))
    )


def test_a_seed_that_is_there_twice_counts_once() -> None:
    rows = seeds(40.0, 50.0)
    again = rows[1].model_copy(update={"name": "again", "scores": {"acc": score("acc", 90.0)}})
    [found] = means([*rows, again])
    assert ([row.seed for row in found.rows], found.figures["acc"].value) == ([0, 1], 45.0)


def test_what_no_seed_has_is_not_told() -> None:
    rows = [one.model_copy(update={"speed": Speed()}) for one in seeds(None, None)]
    [found] = means(rows)
    assert (found.figures, found.uneven) == ({}, [])
