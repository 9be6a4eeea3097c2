"""How far a check of many files is: a bar on a terminal, a plain line now and then elsewhere.

with Bar(console, "clips", 13708) as bar:
    bar.step()
"""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PLAIN_EVERY = 10.0  # seconds between plain lines


class Bar:
    """Counts `total` steps of work on `what`, from one thread."""

    def __init__(self, console: Console, what: str, total: int) -> None:
        self._console, self._what, self._total = console, what, total
        self._done = 0
        self._last_line = time.monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True) if console.is_terminal else None

    def __enter__(self) -> Bar:
        if self._bar:
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=self._total)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if self._bar:
            self._bar.advance(self._task)
        elif time.monotonic() - self._last_line > PLAIN_EVERY:
            self._last_line = time.monotonic()
            self._console.print(f"{self._what}: {self._done}/{self._total}")
