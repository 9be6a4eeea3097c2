"""Appends events to `trace.jsonl` and reads them back. One line an event, handed to the system as it happens.

A torn last line (a killed process) is passed over when the file is read. A trace can be gigabytes, with whole prompts
of every call: who needs little of it goes by the lines' heads and has only those lines parsed that it needs. Of a
sample the last finished try counts: `tries` finds it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from mmerg.errors import RunError
from mmerg.runs.events import EVENT, Event
from mmerg.runs.lines import Lines, why

# As `Trace.emit` begins a line: sample, at, kind, then what the kind has, for most a pass and a stage. A prompt cannot
# feign it: the match is anchored, and quotes within a text are escaped.
_HEAD = re.compile(
    rb'\{"sample":("(?:[^"\\]|\\.)*"),"at":"[^"]*","kind":"([a-z_]+)"(?:,"t":(\d+),"stage":("(?:[^"\\]|\\.)*"))?'
)
_STAGED = frozenset({b"called", b"refused", b"supplied", b"produced", b"rerun"})
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
ENDS = frozenset({"sample_done", "sample_failed"})  # kinds of the events that finish a try


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
        self._lines.append(_ENCODER.encode(event.model_dump(mode="json")) + "\n")


class Head(NamedTuple):
    """What a line begins with. number: from 1; start: where it begins in the file, in bytes. t and stage are None
    for a kind that has not both."""

    number: int
    start: int
    sample: str
    kind: str
    t: int | None
    stage: str | None


def read_heads(path: Path) -> Iterator[tuple[Head, bytes]]:
    """Each line with its head; only a line that begins otherwise than `Trace.emit` writes is read whole. Raises
    RunError where the trace is not there or cannot be read, or such a line is no event."""
    names: dict[bytes, str] = {}  # of samples and stages, by how the file spells them

    def spelled(text: bytes) -> str:
        if text not in names:
            names[text] = json.loads(text)
        return names[text]

    start = 0
    for number, line in enumerate(_whole_lines(path), start=1):
        head = None
        if (found := _HEAD.match(line)) and (found[4] or found[2] not in _STAGED):
            with suppress(ValueError):  # no name in JSON: what is wrong with it is said below
                t, stage = (int(found[3]), spelled(found[4])) if found[4] else (None, None)
                head = Head(number, start, spelled(found[1]), found[2].decode(), t, stage)
        if head is None:
            event = parsed(line, number, path)
            stage = getattr(event, "stage", None)
            head = Head(number, start, event.sample, event.kind, getattr(event, "t", None) if stage else None, stage)
        yield head, line
        start += len(line)


def parsed(line: bytes, number: int, path: Path) -> Event:
    """The event on a line. Raises RunError where it is none."""
    try:
        return EVENT.validate_python(json.loads(line))
    except (ValueError, RecursionError) as error:
        raise RunError(
            f"line {number} is not an event of this version: {why(error)}",
            where=str(path),
            hint="the file was changed by hand or written by another version of mmerg",
        ) from error


def unreadable(error: OSError, path: Path) -> RunError:
    """What to raise where a trace cannot be opened or read."""
    hint = "put it back, or run the same again: finished calls come from the reply cache" * (not path.exists())
    return RunError(f"the trace cannot be read: {error.strerror}", where=str(path), hint=hint)


def read_trace(path: Path) -> Iterator[Event]:
    """The events of `path` in order. Raises RunError where it is not there, or a line other than a torn last one cannot
    be read."""
    for number, line in enumerate(_whole_lines(path), start=1):
        yield parsed(line, number, path)


def story(path: Path, sample: str) -> list[Event]:
    """The events of a sample's last finished try; of the one under way where none is finished."""
    finished: list[Event] = []
    running: list[Event] = []
    for head, line in read_heads(path):
        if head.sample != sample:
            continue
        if head.kind == "sample_started":
            running = []
        running.append(parsed(line, head.number, path))
        if head.kind in ENDS:
            finished, running = running, []
    return finished or running


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The lines of the file, but for a torn last one."""
    try:
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    return
                yield line
    except OSError as error:
        raise unreadable(error, path) from error
