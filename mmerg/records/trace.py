"""Appends events to `trace.jsonl` and reads them back. One line an event, handed to the system as it happens.

A torn last line (a killed process) is cut off when the file is opened to append, and passed over when it is read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from mmerg.errors import RunError
from mmerg.records.events import EVENT, Event, SampleStarted


def append_lines(path: Path) -> int:
    """Cut a torn last line off `path` so that lines can be appended; returns how many bytes were cut."""
    if not path.exists():
        return 0
    with path.open("rb+") as file:
        size = file.seek(0, 2)
        keep = size
        while keep > 0:
            start = max(0, keep - 65536)
            file.seek(start)
            newline = file.read(keep - start).rfind(b"\n")
            if newline >= 0:
                keep = start + newline + 1
                break
            keep = start
        file.truncate(keep)
        return size - keep


class Trace:
    """An open trace file. `emit` is safe from several threads."""

    def __init__(self, path: Path) -> None:
        append_lines(path)
        self._file = path.open("a", encoding="utf-8", newline="\n")
        self._lock = threading.Lock()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.close()

    def emit(self, event: Event) -> None:
        line = EVENT.dump_json(event).decode() + "\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()


def read_trace(path: Path) -> Iterator[Event]:
    """The events of `path` in order. Raises RunError where a line other than a torn last one cannot be read."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield EVENT.validate_json(line)
            except ValidationError as error:
                raise RunError(
                    f"line {number} is not an event of this version: {error.errors()[0]['msg']}",
                    where=str(path),
                    hint="the file was changed by hand or written by another version of mmerg",
                ) from error


def story(path: Path, sample: str) -> list[Event]:
    """The events of a sample's last try."""
    found: list[Event] = []
    for event in read_trace(path):
        if event.sample == sample:
            if isinstance(event, SampleStarted):
                found.clear()
            found.append(event)
    return found
