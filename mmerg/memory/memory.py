"""Finds the entries most similar to a query, without those that a guard excludes.

retrieved = memory.nearest(Query(origin, text, history), MemorySettings(name="mine", top_k=2))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from mmerg.memory.entries import Entry, history_text
from mmerg.memory.guards import Query, guard_against
from mmerg.memory.vectors import Embedder, NoVectorError, Vectors, check_vectors
from mmerg.settings.sources import KeySettings, MemorySettings
from mmerg.storage.words import split_words

if TYPE_CHECKING:
    from faiss import IndexFlatIP

PLACES = 6  # of a cosine, so that the cosine of a text with itself is 1
CACHED = 4096  # vectors of the latest texts: 6 MiB at 384 dimensions


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry and the cosine of its text and the query's. guard: the guard that excluded it, or ""."""

    entry: Entry
    similarity: float
    guard: str = ""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """hits: the exemplars, best first. excluded: the entries excluded by guards that rank above the last hit. problem:
    why there is neither, or ""."""

    hits: tuple[Hit, ...]
    excluded: tuple[Hit, ...]
    problem: str = ""


@dataclass(frozen=True)
class Memory:
    """An open memory; several threads may use it. digest: SHA-256 (hex) of all that decides its answers. index: the
    vectors of the entries, in order."""

    digest: str
    entries: Sequence[Entry]
    key: KeySettings
    embedder: Embedder
    index: IndexFlatIP

    def nearest(self, query: Query, wanted: MemorySettings) -> Retrieved:
        """The at most `wanted.top_k` most similar entries with `min_similarity` and `min_words` that no guard excludes.

        With `wanted.emotion` require_or_any, these are entries with the query's emotion, or any if there are none
        (TRACE, arXiv 2509.21849). A query without a text or a vector gets no entry but a problem.
        """
        if not query.text:
            return Retrieved((), (), f"the sample has no {self.key.named} to search the memory with")
        emotion = query.emotion if wanted.emotion == "require_or_any" else None
        try:
            found = self._search(query, wanted, emotion)
            return found if found.hits or not emotion else self._search(query, wanted)
        except NoVectorError:
            return Retrieved((), (), "the embedder returned no unit vector")

    def _search(self, query: Query, wanted: MemorySettings, emotion: str | None = None) -> Retrieved:
        """Ranks all entries, since guards may exclude any number of them. Ties are in the order of entries. emotion:
        only entries with it."""
        [found], [numbers] = self.index.search(self._vector(query.text)[None], self.index.ntotal)
        cosines = found.astype(np.float64).round(PLACES)
        order = np.lexsort((numbers, -cosines))
        hits: list[Hit] = []
        excluded: list[Hit] = []
        for entry, similarity in ((self.entries[numbers[at]], float(cosines[at])) for at in order):
            if wanted.min_similarity is not None and similarity < wanted.min_similarity:
                break
            if emotion and entry.emotion != emotion:
                continue
            if len(split_words(entry.reply)) < wanted.min_words:
                continue
            guard = guard_against(entry, query, wanted, partial(self._likeness, query, entry, similarity))
            (excluded if guard else hits).append(Hit(entry, similarity, guard))
            if len(hits) == wanted.top_k:
                break
        problem = "" if hits or excluded else "min_similarity, min_words or emotion exclude every entry"
        return Retrieved(tuple(hits), tuple(excluded), problem)

    def _likeness(self, query: Query, entry: Entry, similarity: float) -> float:
        """The cosine of the two histories: from the ranking if that compares histories, else from the embedder. If only
        one has words it is -1; if none has, 1."""
        if self.key.text == "history" and query.text == query.history:
            return similarity
        history = history_text(entry.history)
        if not (query.history and history):
            return 1.0 if query.history == history else -1.0
        return round(float(self._vector(query.history) @ self._vector(history)), PLACES)

    @cached_property
    def _vector(self) -> Callable[[str], Vectors]:
        """Embed a text, [dimensions], with a cache: each pass of a sample asks again, and samples share entries."""
        return lru_cache(maxsize=CACHED)(self._embed)

    def _embed(self, text: str) -> Vectors:
        vector: Vectors = check_vectors(self.embedder.embed([text]), [repr(text)], self.index.d)[0]
        return vector
