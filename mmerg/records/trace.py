"""Appends events to `trace.jsonl` and reads them back. One line an event, handed to the system as it happens.

A torn last line (a killed process) is passed over when the file is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from mmerg.errors import RunError
from mmerg.records.events import EVENT, Event, SampleStarted
from mmerg.records.lines import Lines, why


class Trace:
    """An open trace file. `emit` is safe from several threads. Raises RunError where it cannot be written."""

    def __init__(self, path: Path) -> None:
        self._lines = Lines(path)

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._lines.close()

    def emit(self, event: Event) -> None:
        # Not pydantic's own JSON: that refuses lone surrogates, which models and transcripts do hold.
        plain = EVENT.dump_python(event, mode="json")
        self._lines.append(json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_trace(path: Path) -> Iterator[Event]:
    """The events of `path` in order. Raises RunError where a line other than a torn last one cannot be read."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield EVENT.validate_python(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise RunError(
                    f"line {number} is not an event of this version: {why(error)}",
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
