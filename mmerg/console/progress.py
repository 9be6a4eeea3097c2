"""How far work is: a line or a bar that redraws itself on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Steps
from rich.text import Text

from mmerg.console.terminal import escape, plural
from mmerg.runs import events
from mmerg.runs.result import SampleLine

PLAIN_EVERY = 15.0  # seconds between plain lines while no sample ends


class Progress:
    """Samples, calls, tokens/s and time left. `total`: what this command is to do, `kept`: what an earlier one did,
    `kept_failed` of it without success. Off a terminal a line is at a sample's end, and every `every` seconds."""

    def __init__(
        self, console: Console, total: int, kept: int, kept_failed: int = 0, every: float = PLAIN_EVERY
    ) -> None:
        self._console, self._tty, self._every = console, console.is_terminal, every
        self.kept = kept
        self._total, self._kept_failed = total, kept_failed
        self._done = self._failed = self._started = self._calls = self._cached = self._tokens = 0
        self._begun = time.monotonic()
        self._last_line = self._last_end = self._begun
        self._guard = threading.Lock()
        live = self._tty and total > 0
        self._live = Live(console=console, refresh_per_second=4, get_renderable=self._text) if live else None

    @property
    def made(self) -> int:
        """Calls that reached a model: no cache had their replies."""
        return self._calls - self._cached

    def __enter__(self) -> Progress:
        if self.kept:
            said = "is finished already and is kept" if self.kept == 1 else "are finished already and are kept"
            failed = f", {self._kept_failed} of them failed: only_failed=true takes those up again"
            self._console.print(f"{plural(self.kept, 'sample')} {said}{failed * (self._kept_failed > 0)}")
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def event(self, event: events.Event) -> None:
        with self._guard:
            if isinstance(event, events.SampleStarted):
                self._started += 1
            elif isinstance(event, events.Called):
                self._calls += 1
                self._cached += event.reply.cached
                self._tokens += 0 if event.reply.cached else event.reply.response_tokens
            due = not self._tty and time.monotonic() - self._last_line >= self._every
        if due:
            self._line()

    def result(self, result: SampleLine) -> None:
        with self._guard:
            self._done += result.status == "ok"
            self._failed += result.status == "failed"
            self._last_end = time.monotonic()
        if not self._tty:
            self._line()

    def _line(self) -> None:
        self._last_line = time.monotonic()
        self._console.print(str(self._text()))

    def _text(self) -> Text:
        seconds = max(time.monotonic() - self._begun, 1e-6)
        ended = self._done + self._failed
        calls = plural(self._calls, "call") + (f" ({self._cached} cached)" if self._cached else "")
        return Text(
            f"{ended}/{plural(self._total, 'sample')} · {self._failed} failed · {self._started - ended} in flight"
            f" · {calls} · {self._tokens / seconds:.0f} tokens/s · {self._left(ended)} left"
        )

    def _left(self, ended: int) -> str:
        """As the samples that ended went, counted down until the next one ends."""
        if not ended:
            return "?"
        then = (self._last_end - self._begun) / ended * (self._total - ended)
        return str(timedelta(seconds=round(max(0.0, then - (time.monotonic() - self._last_end)))))


class Bar(Steps):
    """Steps of work on `what`, told from one thread; off a terminal as lines, one in `every` seconds at most."""

    def __init__(self, out: Console, what: str, every: float = PLAIN_EVERY) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        super().__init__(*columns, console=out, transient=True, disable=not out.is_terminal)
        self._what, self._every = what, every
        self._last_line = time.monotonic()

    def at(self, done: int, total: int) -> None:
        """So many of `total` steps are done."""
        if self.console.is_terminal:
            task = self.task_ids[0] if self.task_ids else self.add_task(self._what, total=total)
            self.update(task, completed=done)
        elif done < total and time.monotonic() - self._last_line >= self._every:
            self._last_line = time.monotonic()
            self.console.print(f"{self._what}: {done} of {total}")


class Building(Bar):
    """Implements `mmerg.memory.store.Watch` on a console: how far a memory is, and a line at its end."""

    def __init__(self, out: Console) -> None:
        super().__init__(out, "memory: texts embedded")

    def note(self, text: str) -> None:
        self.console.print(escape(text))

    def embedded(self, done: int, total: int) -> None:
        self.at(done, total)
        if done == total:
            self.console.print(f"{self._what}: {done} of {total}")
