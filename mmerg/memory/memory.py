"""Answers a query: the entries most like it that no guard keeps back, and those that were kept back.

found = memory.nearest(Query(origin, text, history), top_k=1)
[(hit.entry.reply, hit.similarity) for hit in found.hits]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain, filterfalse, takewhile, tee
from typing import Literal

from mmerg.memory.entries import Entry, Key, history_text
from mmerg.memory.guards import Guards, Query
from mmerg.memory.vectors import PLACES, Embedder, Index, NoVectorError, Vectors, checked, ranked

Emotion = Literal["any", "prefer", "require"]
KEPT = 4096  # vectors, of the texts that were last asked for: 6 MiB where they have 384 dimensions


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry and the cosine of its text and the query's; guard: what kept it back, empty where nothing did."""

    entry: Entry
    similarity: float
    guard: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The exemplars, best first, and what guards kept back before the last of them was found, in the same order.
    problem: why the memory could not be searched, empty where it was; the same words for every such query."""

    hits: tuple[Hit, ...]
    excluded: tuple[Hit, ...]
    problem: str = ""


@dataclass(frozen=True)
class Memory:
    """An open memory. digest: SHA-256 (hex) of what decides its answers. Safe to ask from several threads."""

    digest: str
    entries: Sequence[Entry]
    key: Key
    embedder: Embedder
    index: Index

    def nearest(
        self,
        query: Query,
        top_k: int,
        emotion: Emotion = "any",
        min_similarity: float | None = None,
        guards: Guards | None = None,
    ) -> Found:
        """At most `top_k` entries of at least `min_similarity`, walking down the ranking past what guards keep back.

        emotion: prefer puts entries of the query's emotion before all others, require leaves the others out. An entry
        without a label is never of the emotion, and nothing is where the query has none. TRACE (arXiv 2509.21849)
        retrieves so: by emotion and threshold, else by the threshold alone. A query without a text or a vector finds
        nothing, with the reason. Raises what the embedder raises.
        """
        if top_k == 0:
            return Found((), ())
        if not query.text:
            return Found((), (), f"there is no {self.key.text} to search the memory by")
        hits: list[Hit] = []
        excluded: list[Hit] = []
        try:
            for entry, similarity in self._order(query, emotion, min_similarity):
                guard = (guards or Guards()).fired(query, entry, partial(self._likeness, query, entry, similarity))
                (excluded if guard else hits).append(Hit(entry, similarity, guard or ""))
                if len(hits) == top_k:
                    break
        except NoVectorError:
            return Found((), (), "the embedder gives no vector of length 1 for what is compared")
        return Found(tuple(hits), tuple(excluded))

    def _order(self, query: Query, emotion: Emotion, least: float | None) -> Iterator[tuple[Entry, float]]:
        """The entries that may be hits, with their cosines, in the order in which they are taken."""
        order = ranked(self.index, self._vector(query.text))
        near = takewhile(lambda pair: least is None or pair[1] >= least, order)
        found = ((self.entries[number], similarity) for number, similarity in near)

        def same(pair: tuple[Entry, float]) -> bool:
            return query.emotion is not None and pair[0].emotion == query.emotion

        if emotion == "any":
            return found
        if emotion == "require":
            return filter(same, found)
        first, then = tee(found)
        return chain(filter(same, first), filterfalse(same, then))

    def _likeness(self, query: Query, entry: Entry, similarity: float) -> float:
        """The cosine of the two histories: the ranking's own where it is of them, else had from the embedder. Beside no
        words, words are as unlike as can be."""
        if self.key.text == "history" and not self.key.emotion and query.text == query.history:
            return similarity
        history = history_text(entry.history)
        if not (query.history and history):
            return 1.0 if query.history == history else -1.0
        return round(float(self._vector(query.history) @ self._vector(history)), PLACES)

    @cached_property
    def _vector(self) -> Callable[[str], Vectors]:
        """The vector [dimensions] of a text, kept: a sample asks in every pass, and samples meet the same entries."""

        @lru_cache(maxsize=KEPT)
        def vector(text: str) -> Vectors:
            made: Vectors = checked(self.embedder.embed([text]), [repr(text)])[0]
            return made

        return vector
