"""The progress of long work: a redrawn line or bar on a terminal, and plain lines elsewhere."""

import math
import threading
import time
from datetime import timedelta
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Steps

from mmerg.console.terminal import plural
from mmerg.runs import events
from mmerg.runs.result import SampleLine

LINE_INTERVAL = 30.0  # seconds between plain lines while no sample ends


def describe_kept(count: int) -> str:
    """Says that an earlier start finished `count` samples."""
    return f"{plural(count, 'sample')} {'is' if count == 1 else 'are'} already finished"


class Progress:
    """A display of samples, calls, tokens per second and the time left. Without a terminal it prints a line at the
    start, when a sample ends, and every `interval` seconds, as a call may take minutes. total: the number of samples to
    run. kept: the number of samples that an earlier start finished. retried: the number to run that failed before."""

    def __init__(
        self, console: Console, total: int, kept: int, retried: int = 0, interval: float = LINE_INTERVAL
    ) -> None:
        self.kept = kept
        self.model_calls = 0  # calls to a model, without cached completions
        self._console, self._total, self._retried, self._interval = console, total, retried, interval
        self._ended = self._failed = self._started = self._cached = self._tokens = 0
        self._start = self._last_end = time.monotonic()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._live = Live(console=console, get_renderable=self._text) if console.is_terminal and total > 0 else None

    def __enter__(self) -> Self:
        if self.kept:
            self._console.print(describe_kept(self.kept))
        if self._retried:
            self._console.print(f"retrying {plural(self._retried, 'failed sample')}")
        if self._live:
            self._live.start()
        elif self._total and not self._console.is_terminal:
            self._print_line()
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._live:
            self._live.stop()

    def event(self, event: events.Event) -> None:
        with self._lock:
            self._started += isinstance(event, events.SampleStarted)
            if isinstance(event, events.Called):
                self._cached += event.completion.cached
                self.model_calls += not event.completion.cached
                self._tokens += 0 if event.completion.cached else event.completion.response_tokens

    def result(self, result: SampleLine) -> None:
        with self._lock:
            self._ended += 1
            self._failed += result.status == "failed"
            self._last_end = time.monotonic()
        self._print_line()

    def _tick(self) -> None:
        while not self._over.wait(self._interval):
            self._print_line()

    def _print_line(self) -> None:
        if not self._console.is_terminal:
            self._console.print(self._text())

    def _text(self) -> str:
        seconds = max(time.monotonic() - self._start, 1e-6)
        calls = plural(self.model_calls + self._cached, "call") + (f" ({self._cached} cached)" if self._cached else "")
        return (
            f"{self._ended}/{plural(self._total, 'sample')} · {self._failed} failed"
            f" · {self._started - self._ended} in flight · {calls} · {self._tokens / seconds:.0f} tokens/s"
            f"{self._left()}"
        )

    def _left(self) -> str:
        """Returns the time left at the mean pace of finished samples, counting down in between; "" before the first."""
        if not self._ended:
            return ""
        left_at_last_end = (self._last_end - self._start) / self._ended * (self._total - self._ended)
        left = left_at_last_end - (time.monotonic() - self._last_end)
        return f" · {timedelta(seconds=round(max(0.0, left)))} left"


class Bar(Steps):
    """A progress bar, described by `what`. Without a terminal it prints a line at once, and then at most one in
    `interval` seconds."""

    def __init__(self, out: Console, what: str, interval: float = LINE_INTERVAL) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        super().__init__(*columns, console=out, transient=True, disable=not out.is_terminal)
        self._task = self.add_task(what)
        self._what, self._interval, self._last_line = what, interval, -math.inf

    def report(self, done: int, total: int) -> None:
        self.update(self._task, completed=done, total=total)
        if not self.console.is_terminal and done < total and time.monotonic() - self._last_line >= self._interval:
            self._last_line = time.monotonic()
            self.console.print(f"{self._what}: {done} of {total}")
