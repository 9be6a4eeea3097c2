"""Answers a query: the entries most like it that no guard keeps back, and those that were.

found = memory.nearest(Query("d1/4", origin, text, history), top_k=1)
[(hit.entry.reply, hit.similarity) for hit in found.hits]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import Any, Literal

from mmerg.memory.entries import Entry, Key, history_text
from mmerg.memory.guards import Guards, Query
from mmerg.memory.index import ranked
from mmerg.memory.vectors import Embedder, checked

Emotion = Literal["any", "prefer", "require"]


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry and the cosine of its text and the query's; guard: what kept it back, empty where nothing did."""

    entry: Entry
    similarity: float
    guard: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The exemplars, best first, and what guards kept back before the last of them was found, in the same order."""

    hits: tuple[Hit, ...]
    excluded: tuple[Hit, ...]


@dataclass(frozen=True)
class Memory:
    """An open memory. digest: SHA-256 (hex) of all that decides what it answers. Safe to ask from several threads."""

    digest: str
    entries: Sequence[Entry]
    key: Key
    embedder: Embedder
    index: Any

    def nearest(
        self,
        query: Query,
        top_k: int,
        emotion: Emotion = "any",
        min_similarity: float | None = None,
        guards: Guards | None = None,
    ) -> Found:
        """At most `top_k` entries of at least `min_similarity`, walking down the ranking past what guards keep back.

        emotion: prefer puts entries of the query's emotion before all others, require leaves the others out; an entry
        without a label is never of the emotion, and nothing is where the query has none. TRACE (arXiv 2509.21849)
        retrieves so: precisely (emotion and threshold), else by the threshold alone. Raises what the embedder raises.
        """
        guards = guards or Guards()
        hits: list[Hit] = []
        excluded: list[Hit] = []
        if top_k == 0:
            return Found((), ())
        for number, similarity in self._order(query, emotion, min_similarity):
            entry = self.entries[number]
            guard = guards.fired(query, entry, self._likeness(query, entry, similarity))
            if guard:
                excluded.append(Hit(entry, similarity, guard))
                continue
            hits.append(Hit(entry, similarity))
            if len(hits) == top_k:
                break
        return Found(tuple(hits), tuple(excluded))

    def _order(self, query: Query, emotion: Emotion, least: float | None) -> Iterator[tuple[int, float]]:
        [vector] = checked(self.embedder.embed([query.text]), [query.sample])

        def walk(wanted: Callable[[Entry], bool]) -> Iterator[tuple[int, float]]:
            near = takewhile(lambda pair: least is None or pair[1] >= least, ranked(self.index, vector))
            return (pair for pair in near if wanted(self.entries[pair[0]]))

        def same(entry: Entry) -> bool:
            return entry.emotion is not None and entry.emotion == query.emotion

        if emotion == "require":
            return walk(same)
        if emotion == "prefer" and query.emotion is not None:
            return chain(walk(same), walk(lambda entry: not same(entry)))
        return walk(lambda _: True)

    def _likeness(self, query: Query, entry: Entry, similarity: float) -> Callable[[], float]:
        """The cosine of the two histories: the ranking's own where it is by history, else had from the embedder."""
        if self.key.is_history:
            return lambda: similarity

        def measured() -> float:
            texts = [query.history, history_text(entry.history)]
            one, other = checked(self.embedder.embed(texts), [query.sample, entry.id])
            return round(float(one @ other), 6)

        return measured
