"""What a run's trace adds to its results: the history that was shown, and the response's log-probabilities.

A trace can be gigabytes (whole prompts of every call). It is read a line at a time, and a line is parsed only if its
first fields, anchored at its start, say that it is needed; words of a prompt that look like fields are never there.
Lines that are not needed are not checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mmerg.errors import RunError
from mmerg.records import events
from mmerg.records.events import EVENT
from mmerg.records.lines import why
from mmerg.records.result import Result
from mmerg.scoring.tokens import of_response

# As `Trace.emit` writes a line: sample, at, kind, then what the kind has, for most a pass and a stage.
_HEAD = re.compile(
    rb'\{"sample":("(?:[^"\\]|\\.)*"),"at":"[^"]*","kind":"([a-z_]+)"(?:,"t":(\d+),"stage":("(?:[^"\\]|\\.)*"))?'
)


@dataclass(frozen=True, slots=True)
class Told:
    """history: (speaker, text) of the turns shown, responder: who replies. logprobs: None where the trace holds none of
    the response."""

    history: tuple[tuple[str, str], ...] = ()
    logprobs: tuple[float, ...] | None = None
    responder: str = ""


def told(trace: Path, results: Mapping[str, Result], stage: str, field: str = "") -> dict[str, Told]:
    """What `trace` tells of the last try of each sample in `results`, by id. `stage` gives the response, as its text
    or in a `field` of it.

    The response of the selected pass is that of the last call of `stage` up to this pass: a pass that was run again
    from a later stage keeps it, and of several attempts the last was accepted. Raises RunError where a line that is
    needed, other than a torn last one, cannot be read.
    """
    found: dict[str, Told] = {}
    for event in _needed(trace, results, stage):
        result = results[event.sample]
        if isinstance(event, events.SampleStarted):
            found[event.sample] = Told(event.history, responder=event.responder)
        else:
            reply = event.reply
            own = of_response(reply.logprobs, reply.text, result.response or "", field)
            found[event.sample] = replace(found.get(event.sample, Told()), logprobs=own)
    return found


def _needed(path: Path, results: Mapping[str, Result], stage: str) -> Iterator[events.SampleStarted | events.Called]:
    """The starts of samples, and the calls of `stage` up to the selected pass, of samples that are in `results`."""
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                head = _HEAD.match(line)
                if head and not _counts(head, results, stage):
                    continue
                event = _parsed(line, number, path)
                if isinstance(event, events.SampleStarted | events.Called) and _is_needed(event, results, stage):
                    yield event
    except OSError as error:
        raise RunError(f"the trace cannot be read: {error.strerror}", where=str(path)) from error


def _counts(head: re.Match[bytes], results: Mapping[str, Result], stage: str) -> bool:
    """Whether the fields that a line begins with say that it is needed."""
    sample, kind, t, by = head.groups()
    if kind == b"sample_started":
        return True
    if kind != b"called" or by is None:
        return kind == b"called"  # its fields stand in another order: the whole line will tell
    return json.loads(by) == stage and _up_to(int(t), json.loads(sample), results)


def _is_needed(event: events.SampleStarted | events.Called, results: Mapping[str, Result], stage: str) -> bool:
    if isinstance(event, events.SampleStarted):
        return event.sample in results
    return event.stage == stage and _up_to(event.t, event.sample, results)


def _up_to(t: int, sample: str, results: Mapping[str, Result]) -> bool:
    selected = results[sample].selected_pass if sample in results else None
    return selected is not None and t <= selected


def _parsed(line: bytes, number: int, path: Path) -> events.Event:
    try:
        return EVENT.validate_python(json.loads(line))
    except (ValueError, RecursionError) as error:
        raise RunError(
            f"line {number} is not an event of this version: {why(error)}",
            where=str(path),
            hint="the file was changed by hand or written by another version of mmerg",
        ) from error
