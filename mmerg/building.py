"""What the building of a memory shows: a bar that redraws itself on a terminal, plain lines elsewhere.

with Building(console()) as watch:
    Store(folder, watch).open(corpus, key, embedder)
"""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mmerg.progress import PLAIN_EVERY
from mmerg.terminal import harmless

WORDS = "memory: texts embedded"


class Building:
    """Implements `mmerg.memory.store.Watch` on a console."""

    def __init__(self, out: Console) -> None:
        columns = (TextColumn(WORDS), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._out = out
        self._bar = Progress(*columns, console=out, transient=True) if out.is_terminal else None
        self._last = time.monotonic()

    def __enter__(self) -> Building:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()

    def note(self, text: str) -> None:
        self._out.print(harmless(text))

    def embedded(self, done: int, total: int) -> None:
        if self._bar:
            if not self._bar.tasks:
                self._bar.add_task(WORDS, total=total)
            self._bar.update(self._bar.tasks[0].id, completed=done)
        if done == total or (not self._bar and time.monotonic() - self._last > PLAIN_EVERY):
            self._last = time.monotonic()
            self._out.print(f"{WORDS}: {done} of {total}")
