"""Finds the entries most similar to a query, without those that a guard excludes.

retrieved = memory.nearest(Query(origin, text, history), MemorySettings(name="mine", top_k=2))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

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

        wanted.emotion: prefer puts entries with the query's emotion first, require omits the others, and require_or_any
        is require, or any if that finds nothing (TRACE, arXiv 2509.21849). A query without a text or a vector gets no
        entry but a problem.
        """
        if wanted.emotion == "require_or_any":
            precise = self.nearest(query, wanted.model_copy(update={"emotion": "require"}))
            return precise if precise.hits else self.nearest(query, wanted.model_copy(update={"emotion": "any"}))
        if not query.text:
            return Retrieved((), (), f"the sample has no {self.key.named} to search the memory with")
        hits: list[Hit] = []
        excluded: list[Hit] = []
        try:
            for entry, similarity in self._ranking(query, wanted):
                guard = guard_against(entry, query, wanted, partial(self._likeness, query, entry, similarity))
                (excluded if guard else hits).append(Hit(entry, similarity, guard))
                if len(hits) == wanted.top_k:
                    break
        except NoVectorError:
            return Retrieved((), (), "the embedder returned no unit vector")
        problem = "" if hits or excluded else "min_similarity, min_words or emotion exclude every entry"
        return Retrieved(tuple(hits), tuple(excluded), problem)

    def _ranking(self, query: Query, wanted: MemorySettings) -> Iterator[tuple[Entry, float]]:
        """The entries that may be hits with their cosines, the most similar first; ties in the order of entries.

        All entries are ranked, since guards may exclude any number of them.
        """
        [found], [numbers] = self.index.search(self._vector(query.text)[None], self.index.ntotal)
        cosines = found.astype(np.float64).round(PLACES)
        order = np.lexsort((numbers, -cosines))
        numbers, cosines = numbers[order], cosines[order]
        near = cosines >= (-np.inf if wanted.min_similarity is None else wanted.min_similarity)
        near &= self._reply_words[numbers] >= wanted.min_words
        same = self._emotions[numbers] == query.emotion if query.emotion else np.zeros_like(near)
        groups = {"any": (near,), "prefer": (near & same, near & ~same), "require": (near & same,)}
        for group in groups[wanted.emotion]:
            for number, cosine in zip(numbers[group], cosines[group], strict=True):
                yield self.entries[number], float(cosine)

    def _likeness(self, query: Query, entry: Entry, similarity: float) -> float:
        """The cosine of the two histories: from the ranking if that compares histories, else from the embedder. If only
        one has words it is -1; if none has, 1."""
        if self.key.text == "history" and not self.key.emotion and query.text == query.history:
            return similarity
        history = history_text(entry.history)
        if not (query.history and history):
            return 1.0 if query.history == history else -1.0
        return round(float(self._vector(query.history) @ self._vector(history)), PLACES)

    @cached_property
    def _emotions(self) -> npt.NDArray[np.str_]:
        return np.array([entry.emotion or "" for entry in self.entries])

    @cached_property
    def _reply_words(self) -> npt.NDArray[np.int_]:
        return np.array([len(split_words(entry.reply)) for entry in self.entries])

    @cached_property
    def _vector(self) -> Callable[[str], Vectors]:
        """Embed a text, [dimensions], with a cache: each pass of a sample asks again, and samples share entries."""
        return lru_cache(maxsize=CACHED)(self._embed)

    def _embed(self, text: str) -> Vectors:
        vector: Vectors = check_vectors(self.embedder.embed([text]), [repr(text)], self.index.d)[0]
        return vector
