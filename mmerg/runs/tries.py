"""The events of each sample's last finished try, out of a trace of any size.

The trace is gone through once, a line at a time, and where the lines of each try begin is kept: some numbers a line,
never its text. A line is parsed only when its sample is asked for. So memory does not grow with prompts and replies,
and samples come in the order that the reader wants, whatever order threads wrote them in.

    with Tries(run / TRACE) as tries:
        for event in tries.of("test_dia0/3"):
            ...
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType

from mmerg.runs.events import Event
from mmerg.runs.trace import ENDS, Head, parsed, read_heads, unreadable


class Tries:
    """An open trace. kinds: the events that are wanted (None: all). A try that broke off is passed over, and so is a
    torn last line. Raises RunError where the file or a line that is needed cannot be read."""

    def __init__(self, path: Path, kinds: Collection[str] | None = None) -> None:
        self._path = path
        self._heads = self._index(kinds)
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise unreadable(error, path) from error

    def __enter__(self) -> Tries:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.close()

    def __contains__(self, sample: str) -> bool:
        return sample in self._heads

    def of(self, sample: str) -> Iterator[Event]:
        """The events of `sample` in order; none where it has no finished try."""
        return map(self.event, self.heads(sample))

    def heads(self, sample: str) -> list[Head]:
        """How the lines of these events begin."""
        return self._heads.get(sample, [])

    def event(self, head: Head) -> Event:
        """The event that begins so."""
        try:
            self._file.seek(head.start)
            line = self._file.readline()
        except OSError as error:
            raise unreadable(error, self._path) from error
        return parsed(line, head.number, self._path)

    def _index(self, kinds: Collection[str] | None) -> dict[str, list[Head]]:
        running: dict[str, list[Head]] = {}
        finished: dict[str, list[Head]] = {}
        for head, _ in read_heads(self._path):
            if head.kind == "sample_started":
                running[head.sample] = []
            if kinds is None or head.kind in kinds:
                running.setdefault(head.sample, []).append(head)
            if head.kind in ENDS:
                finished[head.sample] = running.pop(head.sample, [])
        return finished
