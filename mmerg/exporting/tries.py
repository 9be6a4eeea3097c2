"""The events of each sample's last finished try, out of a trace of any size.

The trace is gone through once, a line at a time, and where the lines of each try begin is kept: some numbers a line,
never its text. A line is parsed only when its sample is asked for. So memory does not grow with prompts and replies,
and samples come in the order that the reader wants, whatever order threads wrote them in.

    with Tries(run / TRACE) as tries:
        for event in tries.of("test_dia0/3"):
            ...
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType

from mmerg.errors import RunError
from mmerg.records.events import EVENT, Event
from mmerg.records.lines import why

# As `Trace.emit` begins a line. A prompt cannot feign it: the match is anchored, and quotes within a text are escaped.
_HEAD = re.compile(rb'\{"sample":("(?:[^"\\]|\\.)*"),"at":"[^"]*","kind":"([a-z_]+)"')
_ENDS = frozenset({"sample_done", "sample_failed"})

Place = tuple[int, int]  # number of the line from 1, and where it begins in the file


class Tries:
    """An open trace. kinds: the events that are wanted (None: all). A try that broke off is passed over, and so is a
    torn last line. Raises RunError where the file or a line that is needed cannot be read."""

    def __init__(self, path: Path, kinds: Collection[str] | None = None) -> None:
        self._path = path
        self._names: dict[bytes, str] = {}  # of samples, by how the file spells them
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise self._unreadable(error) from error
        try:
            self._places = self._index(kinds)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Tries:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.close()

    def __contains__(self, sample: str) -> bool:
        return sample in self._places

    def of(self, sample: str) -> Iterator[Event]:
        """The events of `sample` in order; none where it has no finished try."""
        for number, start in self._places.get(sample, ()):
            try:
                self._file.seek(start)
                line = self._file.readline()
            except OSError as error:
                raise self._unreadable(error) from error
            yield self._parsed(line, number)

    def _index(self, kinds: Collection[str] | None) -> dict[str, list[Place]]:
        running: dict[str, list[Place]] = {}
        finished: dict[str, list[Place]] = {}
        start = 0
        for number, line in enumerate(self._lines(), start=1):
            sample, kind = self._head(line, number)
            if kind == "sample_started":
                running[sample] = []
            if kinds is None or kind in kinds:
                running.setdefault(sample, []).append((number, start))
            if kind in _ENDS:
                finished[sample] = running.pop(sample, [])
            start += len(line)
        return finished

    def _lines(self) -> Iterator[bytes]:
        try:
            for line in self._file:
                if not line.endswith(b"\n"):
                    return
                yield line
        except OSError as error:
            raise self._unreadable(error) from error

    def _head(self, line: bytes, number: int) -> tuple[str, str]:
        """Whose event a line is, and of which kind; a line that begins otherwise is read whole."""
        if head := _HEAD.match(line):
            try:
                if head[1] not in self._names:
                    self._names[head[1]] = json.loads(head[1])
                return self._names[head[1]], head[2].decode()
            except ValueError:
                pass  # no name in JSON: what is wrong with it is said below
        event = self._parsed(line, number)
        return event.sample, event.kind

    def _parsed(self, line: bytes, number: int) -> Event:
        try:
            return EVENT.validate_python(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise RunError(
                f"line {number} is not an event of this version: {why(error)}",
                where=str(self._path),
                hint="the file was changed by hand or written by another version of mmerg",
            ) from error

    def _unreadable(self, error: OSError) -> RunError:
        return RunError(f"the trace cannot be read: {error.strerror}", where=str(self._path))
