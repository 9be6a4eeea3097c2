"""Answers a query: the entries most like it that no guard keeps back, and those that were kept back.

found = memory.nearest(Query(origin, text, history), MemorySettings(name="mine", top_k=2))
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
import numpy.typing as npt

from mmerg.memory.entries import Entry, history_text
from mmerg.memory.guards import Query, fired
from mmerg.memory.vectors import PLACES, Embedder, NoVectorError, Vectors, checked, cosines, ranked
from mmerg.settings.model import KeySettings, MemorySettings

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
    problem: why there is none, where it is not for the guards; the same words for every such query."""

    hits: tuple[Hit, ...]
    excluded: tuple[Hit, ...]
    problem: str = ""


@dataclass(frozen=True)
class Memory:
    """An open memory. digest: SHA-256 (hex) of what decides its answers. vectors: of the entries, [entries,
    dimensions]. Safe to ask from several threads."""

    digest: str
    entries: Sequence[Entry]
    key: KeySettings
    embedder: Embedder
    vectors: Vectors

    def nearest(self, query: Query, wanted: MemorySettings) -> Found:
        """At most `wanted.top_k` entries of at least `min_similarity`, whose replies have `min_words` at least, going
        down the ranking past what guards keep back.

        emotion: prefer puts entries of the query's emotion before all others, require leaves the others out. An entry
        without a label is never of the emotion, and nothing is where the query has none. require_or_any is TRACE's
        (arXiv 2509.21849): precise, by emotion and threshold, and where that finds nothing, fuzzy, by the threshold
        alone. A query without a text or a vector finds nothing, with the reason. Raises what the embedder raises.
        """
        if wanted.top_k == 0:
            return Found((), ())
        if wanted.emotion == "require_or_any":
            precise = self.nearest(query, wanted.model_copy(update={"emotion": "require"}))
            return precise if precise.hits else self.nearest(query, wanted.model_copy(update={"emotion": "any"}))
        if not query.text:
            return Found((), (), f"there is no {self.key.named} to search the memory by")
        hits: list[Hit] = []
        excluded: list[Hit] = []
        try:
            for entry, similarity in self._order(query, wanted):
                guard = fired(wanted, query, entry, partial(self._likeness, query, entry, similarity))
                (excluded if guard else hits).append(Hit(entry, similarity, guard))
                if len(hits) == wanted.top_k:
                    break
        except NoVectorError:
            return Found((), (), "the embedder gives no vector of length 1 for what is compared")
        problem = "" if hits or excluded else "min_similarity, min_words or emotion leave no entry"
        return Found(tuple(hits), tuple(excluded), problem)

    def _order(self, query: Query, wanted: MemorySettings) -> Iterator[tuple[Entry, float]]:
        """The entries that may be hits, with their cosines, in the order in which they are taken."""
        scores = cosines(self.vectors, self._vector(query.text))
        near = scores >= (-np.inf if wanted.min_similarity is None else wanted.min_similarity)
        near &= self._lengths >= wanted.min_words
        same = self._emotions == query.emotion if query.emotion else np.zeros_like(near)
        groups = {"any": (near,), "prefer": (near & same, near & ~same), "require": (near & same,)}
        for group in groups[wanted.emotion]:
            numbers = np.flatnonzero(group)
            for place in ranked(scores[numbers]):
                yield self.entries[numbers[place]], float(scores[numbers[place]])

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
    def _emotions(self) -> npt.NDArray[np.str_]:
        return np.array([entry.emotion or "" for entry in self.entries])

    @cached_property
    def _lengths(self) -> npt.NDArray[np.int_]:
        """The words of each entry's reply, [entries]."""
        return np.array([len(entry.reply.split()) for entry in self.entries])

    @cached_property
    def _vector(self) -> Callable[[str], Vectors]:
        """The vector [dimensions] of a text, kept: a sample asks in every pass, and samples meet the same entries."""

        @lru_cache(maxsize=KEPT)
        def vector(text: str) -> Vectors:
            made: Vectors = checked(self.embedder.embed([text]), [repr(text)])[0]
            return made

        return vector
