"""The ranking compared with brute force, ties, and vectors that are not unit vectors."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.errors import SampleError
from mmerg.memory.entries import Entry, Origin
from mmerg.memory.guards import Query
from mmerg.memory.memory import Memory
from mmerg.memory.store import build_index
from mmerg.memory.vectors import Vectors, check_vectors, scale_to_unit
from mmerg.settings.sources import KeySettings
from tests.memory.parts import Letters, wanted


def random(count: int, dimensions: int, seed: int) -> Vectors:
    return scale_to_unit(np.random.default_rng(seed).normal(size=(count, dimensions)))


def nearest(vectors: Vectors, query: Vectors, top_k: int = 50) -> list[tuple[int, float]]:
    """The (number, cosine) of the vectors that are most similar to `query`."""

    class Fixed(Letters):
        def embed(self, texts: Sequence[str]) -> Vectors:
            return query[None]

    entries = [Entry(str(number), Origin(str(number)), (), "reply") for number in range(len(vectors))]
    memory = Memory("", entries, KeySettings(), Fixed(), build_index(vectors))
    settings = wanted(top_k=top_k, exclude_similarity=None)
    return [
        (int(hit.entry.id), hit.similarity) for hit in memory.nearest(Query(Origin("q"), "text", "text"), settings).hits
    ]


@settings(max_examples=15, deadline=None)
@given(count=st.integers(1, 300), dimensions=st.sampled_from([2, 5, 32]), seed=st.integers(0, 999))
def test_the_ranking_equals_that_of_all_cosines(count: int, dimensions: int, seed: int) -> None:
    vectors, [query] = random(count, dimensions, seed), random(1, dimensions, seed + 1000)
    ranking = nearest(vectors, query)
    exact = vectors.astype(np.float64) @ query.astype(np.float64)
    assert np.allclose([score for _, score in ranking], sorted(exact, reverse=True)[:50], atol=2e-6)
    assert np.allclose([exact[number] for number, _ in ranking], [score for _, score in ranking], atol=2e-6)


@settings(max_examples=15, deadline=None)
@given(kinds=st.lists(st.integers(0, 2), min_size=1, max_size=50))
def test_equal_scores_are_in_the_order_of_entries(kinds: list[int]) -> None:
    near = np.array([[np.cos(angle), np.sin(angle)] for angle in (0.0, 4e-4, 6e-4)], dtype=np.float32)
    assert len(set((near @ near[0]).tolist())) == 3  # three cosines, all of which are rounded to 1
    assert nearest(near[kinds], near[0]) == [(number, 1.0) for number in range(len(kinds))]


@pytest.mark.parametrize("bad", [[np.nan, 1.0], [0.0, 0.0], [np.inf, 0.0]])
def test_the_error_names_a_text_without_a_vector(bad: list[float]) -> None:
    with pytest.raises(SampleError, match="no unit vector for second"):
        check_vectors(scale_to_unit([[1.0, 2.0], bad]), ["first", "second"])
