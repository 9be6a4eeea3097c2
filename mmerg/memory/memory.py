"""A search for the entries that are most similar to a query, without those that a guard excludes.

retrieved = memory.nearest(Query(origin, text, history), MemorySettings(name="mine", top_k=2))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from mmerg.memory.entries import Entry, join_history
from mmerg.memory.guards import Query, find_guard
from mmerg.memory.vectors import Embedder, Vectors, check_vectors
from mmerg.settings.sources import KeySettings, MemorySettings
from mmerg.storage.words import split_words

if TYPE_CHECKING:
    from faiss import IndexFlatIP

DECIMALS = 6  # of a cosine, so that the cosine of a text with itself is 1
CACHE_SIZE = 4096  # vectors of the latest texts: 6 MiB at 384 dimensions


@dataclass(frozen=True, slots=True)
class Hit:
    entry: Entry
    similarity: float  # the cosine of its key text and the query's
    guard: str = ""  # the guard that excluded it


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The results of a search."""

    hits: tuple[Hit, ...]  # the exemplars, best first
    excluded: tuple[Hit, ...]  # the entries above the last hit that guards excluded
    problem: str = ""  # why there are neither hits nor exclusions


@dataclass(frozen=True)
class Memory:
    """An open memory; several threads may use it."""

    digest: str  # SHA-256 (hex) of all that determines its results
    entries: Sequence[Entry]
    key: KeySettings
    embedder: Embedder
    index: IndexFlatIP  # the vectors of the entries, in the same order

    def nearest(self, query: Query, settings: MemorySettings) -> Retrieved:
        """Finds the most similar entries that no guard excludes: at most `top_k`, with at least `min_similarity` and
        `min_words`. If `emotion` is require_or_any, they have the emotion of the query, or any if no such entry is
        found (TRACE, arXiv 2509.21849). If the query has no text, the result is only a problem. Raises SampleError if
        the embedder has no vector for a text."""
        if not query.text:
            return Retrieved((), (), f"the sample has no {self.key.named} to search the memory with")
        emotion = query.emotion if settings.emotion == "require_or_any" else None
        retrieved = self._search(query, settings, emotion)
        return retrieved if retrieved.hits or not emotion else self._search(query, settings)

    def _search(self, query: Query, settings: MemorySettings, emotion: str | None = None) -> Retrieved:
        """Ranks all entries, as guards may exclude any number; ties in their order. emotion: of entries; None: any."""
        [products], [numbers] = self.index.search(self._vector(query.text)[None], self.index.ntotal)
        cosines = products.astype(np.float64).round(DECIMALS)
        order = np.lexsort((numbers, -cosines))
        hits: list[Hit] = []
        excluded: list[Hit] = []
        for position in order:
            entry, similarity = self.entries[numbers[position]], float(cosines[position])
            if settings.min_similarity is not None and similarity < settings.min_similarity:
                break
            if emotion and entry.emotion != emotion:
                continue
            if len(split_words(entry.reply)) < settings.min_words:
                continue
            guard = find_guard(entry, query, settings, partial(self._compare_histories, query, entry, similarity))
            (excluded if guard else hits).append(Hit(entry, similarity, guard))
            if len(hits) == settings.top_k:
                break
        problem = "" if hits or excluded else "min_similarity, min_words or emotion exclude every entry"
        return Retrieved(tuple(hits), tuple(excluded), problem)

    def _compare_histories(self, query: Query, entry: Entry, similarity: float) -> float:
        """Returns the cosine of the two histories: `similarity` if the ranking compares histories, or else by the
        embedder; -1 if only one history is blank, and 1 if both are."""
        if self.key.text == "history" and query.text == query.history:
            return similarity
        history = join_history(entry.history)
        if not (query.history and history):
            return 1.0 if query.history == history else -1.0
        return round(float(self._vector(query.history) @ self._vector(history)), DECIMALS)

    @cached_property
    def _vector(self) -> Callable[[str], Vectors]:
        """The vector of a text, [dimensions]. Cached, as passes of a sample search again, and samples share entries."""
        embed = self.embedder.embed
        return lru_cache(maxsize=CACHE_SIZE)(lambda text: check_vectors(embed([text]), [repr(text)])[0])
