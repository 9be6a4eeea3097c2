"""The ranking against brute force, and ties."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.errors import ConfigError
from mmerg.memory.vectors import FIRST, Vectors, checked, cosines, ranked, unit


def some(count: int, dimensions: int, seed: int) -> Vectors:
    return unit(np.random.default_rng(seed).normal(size=(count, dimensions)))


def ranking(vectors: Vectors, query: Vectors) -> Iterator[tuple[int, float]]:
    """(number, cosine) of all vectors, as a memory takes them."""
    scores = cosines(vectors, query)
    return ((number, float(scores[number])) for number in ranked(scores))


def brute(vectors: Vectors, query: Vectors) -> list[int]:
    scores = np.round((vectors @ query).astype(np.float64), 6)
    return sorted(range(len(vectors)), key=lambda number: (-scores[number], number))


@settings(max_examples=40, deadline=None)
@given(count=st.integers(1, 2 * FIRST), dimensions=st.sampled_from([2, 5, 32]), seed=st.integers(0, 999))
def test_the_order_is_that_of_all_cosines(count: int, dimensions: int, seed: int) -> None:
    vectors, [query] = some(count, dimensions, seed), some(1, dimensions, seed + 1000)
    found = list(ranking(vectors, query))
    cosines = vectors.astype(np.float64) @ query.astype(np.float64)
    assert sorted(number for number, _ in found) == list(range(count))
    assert np.allclose([score for _, score in found], sorted(cosines, reverse=True), atol=2e-6)
    assert np.allclose([cosines[number] for number, _ in found], [score for _, score in found], atol=2e-6)


def test_recall_at_ten_of_a_thousand() -> None:
    vectors = some(1000, 64, 1)
    for query in some(20, 64, 2):
        assert [number for number, _ in islice(ranking(vectors, query), 10)] == brute(vectors, query)[:10]


@settings(max_examples=30, deadline=None)
@given(kinds=st.lists(st.integers(0, 3), min_size=1, max_size=2 * FIRST))
def test_equal_scores_come_by_number_however_many_there_are(kinds: list[int]) -> None:
    basis = np.eye(4, 16, dtype=np.float32)  # exact: 1 for the same kind, 0 for all others
    vectors = basis[kinds]
    found = [number for number, _ in ranking(vectors, basis[0])]
    assert found == brute(vectors, basis[0])


def test_a_tie_is_not_cut_where_the_first_search_ends() -> None:
    same = some(1, 8, 3)
    vectors = np.repeat(same, 2 * FIRST, axis=0)
    assert [number for number, _ in islice(ranking(vectors, same[0]), 5)] == [0, 1, 2, 3, 4]


@settings(max_examples=30, deadline=None)
@given(kinds=st.lists(st.integers(0, 2), min_size=1, max_size=200))
def test_scores_that_are_told_as_equal_come_by_number(kinds: list[int]) -> None:
    near = np.array([[np.cos(angle), np.sin(angle)] for angle in (0.0, 4e-4, 6e-4)], dtype=np.float32)
    assert len(set((near @ near[0]).tolist())) == 3  # of three cosines, each is told as 1
    found = list(ranking(near[kinds], near[0]))
    assert found == [(number, 1.0) for number in range(len(kinds))]


def test_a_vector_of_other_dimensions_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"a vector of shape \(4,\), and the memory's have 8 dimensions"):
        next(ranking(some(3, 8, 4), some(1, 4, 4)[0]))


def test_a_text_is_wholly_like_itself() -> None:
    vectors = some(200, 384, 5)
    assert [next(ranking(vectors, vector)) for vector in vectors] == [(number, 1.0) for number in range(200)]


@pytest.mark.parametrize("bad", [[np.nan, 1.0], [0.0, 0.0], [np.inf, 0.0]])
def test_what_is_no_vector_is_named(bad: list[float]) -> None:
    with pytest.raises(ConfigError, match="no vector of length 1 for second"):
        checked(unit([[1.0, 2.0], bad]), ["first", "second"])


def test_too_few_vectors_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"shape \(1, 2\) for 2 texts"):
        checked(unit([[1.0, 2.0]]), ["first", "second"])
