"""How far work of many equal steps is: a bar on a terminal, a plain line now and then elsewhere.

with Bar(console(), "clips") as bar:
    bar.at(1, 13708)
with Building(console()) as watch:
    Store(folder, watch).open(corpus, key, embedder)
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mmerg.console.progress import PLAIN_EVERY
from mmerg.console.terminal import escape


class Bar:
    """Shows steps of work on `what`, told from one thread; off a terminal as lines, one in `every` seconds at most."""

    def __init__(self, out: Console, what: str, every: float = PLAIN_EVERY) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._out, self._what, self._every = out, what, every
        self._bar = Progress(*columns, console=out, transient=True, disable=not out.is_terminal)
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._bar.stop()

    def at(self, done: int, total: int) -> None:
        """So many of `total` steps are done."""
        if self._out.is_terminal:
            if not self._bar.tasks:
                self._bar.add_task(self._what, total=total)
            self._bar.update(self._bar.tasks[0].id, completed=done)
        elif done < total and time.monotonic() - self._last_line >= self._every:
            self._last_line = time.monotonic()
            self._out.print(f"{self._what}: {done} of {total}")


class Building(Bar):
    """Implements `mmerg.memory.store.Watch` on a console: how far a memory is, and a line at its end."""

    def __init__(self, out: Console) -> None:
        super().__init__(out, "memory: texts embedded")

    def note(self, text: str) -> None:
        self._out.print(escape(text))

    def embedded(self, done: int, total: int) -> None:
        self.at(done, total)
        if done == total:
            self._out.print(f"{self._what}: {done} of {total}")
