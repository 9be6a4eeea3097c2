"""What the building of a memory shows: how far it is, and a line at its end.

with Building(console()) as watch:
    Store(folder, watch).open(corpus, key, embedder)
"""

from __future__ import annotations

from rich.console import Console

from mmerg.console.bar import Bar
from mmerg.console.terminal import escape

WORDS = "memory: texts embedded"


class Building(Bar):
    """Implements `mmerg.memory.store.Watch` on a console."""

    def __init__(self, out: Console) -> None:
        super().__init__(out, WORDS)

    def note(self, text: str) -> None:
        self._out.print(escape(text))

    def embedded(self, done: int, total: int) -> None:
        self.at(done, total)
        if done == total:
            self._out.print(f"{WORDS}: {done} of {total}")
