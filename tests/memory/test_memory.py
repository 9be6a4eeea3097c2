"""The results of a query: top k, emotions, thresholds, and the excluded entries."""

from dataclasses import replace
from pathlib import Path

import pytest

from mmerg.errors import SampleError
from mmerg.memory.entries import Origin
from mmerg.memory.guards import Query
from mmerg.memory.memory import Memory, Retrieved
from mmerg.memory.store import open_memory
from mmerg.settings.sources import KeySettings as Key
from tests.memory.parts import Broken, Letters, corpus, dialogue, ignore_progress, wanted

SOURCE = corpus(
    dialogue("a", "X: aaaa", "Y [joy]: first"),
    dialogue("b", "X: aaab", "Y [sadness]: second"),
    dialogue("c", "X: aabb", "Y [joy]: third"),
    dialogue("d", "X: abbb", "Y: fourth"),
    dialogue("e", "X: bbbb", "Y [sadness]: fifth"),
)
QUERY = Query(Origin("q"), "aaaa", "aaaa", emotion="sadness", reply="hidden")
ALL = {"exclude_similarity": None}


def build_memory(folder: Path, embedder: Letters | None = None) -> Memory:
    return open_memory(folder, SOURCE, Key(), embedder or Letters(), ignore_progress)[0]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return build_memory(tmp_path)


def replies(
    memory: Memory, query: Query = QUERY, top_k: int = 5, emotion: str = "any", least: float | None = None
) -> list[str]:
    settings = wanted(top_k=top_k, emotion=emotion, min_similarity=least, **ALL)
    return [hit.entry.reply for hit in memory.nearest(query, settings).hits]


def test_a_threshold_that_excludes_every_entry_is_a_problem(memory: Memory) -> None:
    unlike = Query(Origin("q"), "ac", "ac", emotion=None, reply="hidden")
    retrieved = memory.nearest(unlike, wanted(min_similarity=1.0, **ALL))
    assert (retrieved.hits, retrieved.problem) == ((), "min_similarity, min_words or emotion exclude every entry")


@pytest.mark.parametrize("emotion", ["joy", "anger", None])
@pytest.mark.parametrize(("least", "top_k"), [(None, 1), (0.8, 2), (0.999, 1)])
def test_require_or_any_gives_the_results_of_brute_force(
    memory: Memory, emotion: str | None, least: float | None, top_k: int
) -> None:
    """As in TRACE: entries of the emotion above the threshold, or if there are none, any above the threshold."""
    [query, *vectors] = Letters().embed([QUERY.text, *(entry.history[0][1] for entry in memory.entries)])
    ranked = sorted(
        zip(memory.entries, (float(query @ vector) for vector in vectors), strict=True), key=lambda p: -p[1]
    )
    near = [entry for entry, similarity in ranked if least is None or round(similarity, 6) >= least]
    precise = [entry for entry in near if emotion and entry.emotion == emotion]
    retrieved = replies(memory, replace(QUERY, emotion=emotion), top_k, "require_or_any", least)
    assert retrieved == [entry.reply for entry in (precise or near)[:top_k]]


@pytest.mark.parametrize(("least", "words"), [(2, [2, 3]), (4, [])])
def test_a_reply_of_too_few_words_is_not_an_exemplar(least: int, words: list[int], tmp_path: Path) -> None:
    source = corpus(*(dialogue(f"of {count}", "X: aaaa", f"Y: {'yes ' * count}") for count in (1, 2, 3)))
    memory, _ = open_memory(tmp_path, source, Key(), Letters(), ignore_progress)
    retrieved = memory.nearest(QUERY, wanted(top_k=5, min_words=least, **ALL))
    assert [len(hit.entry.reply.split()) for hit in retrieved.hits] == words


def test_excluded_entries_have_the_name_of_their_guard(memory: Memory) -> None:
    retrieved = memory.nearest(replace(QUERY, reply="Second!"), wanted(top_k=1))
    assert [(hit.entry.reply, hit.guard) for hit in retrieved.excluded] == [
        ("first", "near duplicate"),
        ("second", "same reply"),
    ]
    assert [(hit.entry.reply, hit.guard) for hit in retrieved.hits] == [("third", "")]
    assert retrieved.excluded[0].similarity == 1.0


def test_near_duplicates_are_found_by_histories_with_any_key(tmp_path: Path) -> None:
    source = corpus(
        dialogue("a", "X: aaaa", "Y [joy]: first", situation="cat"),
        dialogue("b", "X: bbbb", "Y [joy]: second", situation="cat"),
    )
    key = Key(text="situation_or_history")
    memory, _ = open_memory(tmp_path, source, key, Letters(), ignore_progress)
    retrieved = memory.nearest(replace(QUERY, text="cat"), wanted(top_k=2))
    assert [(hit.entry.reply, hit.similarity) for hit in retrieved.hits] == [("second", 1.0)]
    assert [(hit.entry.reply, hit.guard) for hit in retrieved.excluded] == [("first", "near duplicate")]


def test_a_query_without_a_vector_fails_its_sample(tmp_path: Path) -> None:
    memory = build_memory(tmp_path, embedder=Broken())
    with pytest.raises(SampleError, match="no unit vector for 'nan'"):
        memory.nearest(replace(QUERY, text="nan"), wanted(top_k=1))
    assert memory.nearest(QUERY, wanted(top_k=1)).hits


def test_a_query_without_a_text_finds_nothing_and_says_why(tmp_path: Path) -> None:
    embedder = Letters()
    memory = build_memory(tmp_path, embedder=embedder)
    embedded = len(embedder.embedded)
    retrieved = memory.nearest(replace(QUERY, text=""), wanted(top_k=1))
    assert retrieved == Retrieved((), (), "the sample has no history to search the memory with")
    assert len(embedder.embedded) == embedded
