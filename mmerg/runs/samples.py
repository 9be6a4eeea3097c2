"""The files with the events of samples: `samples/<quoted id>.jsonl` has a line for each event of one attempt.

with recording(run, "test_dia0/3") as emit:
    emit(event)
read_events(run, "test_dia0/3")
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from mmerg.errors import RunError
from mmerg.runs.events import EVENT, Emit, Event, SampleDone, SampleFailed, SampleStarted
from mmerg.storage.files import describe_error, replace_file, wrap_os_errors

SAMPLES, SUFFIX = "samples", ".jsonl"
_LONGEST = 200  # bytes of a name; file systems allow 255 including `.part`
AGAIN = "remove the file, then run the same command again: finished calls come from the completion cache"
END_EVENTS = (SampleDone, SampleFailed)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def file_name(sample: str) -> str:
    """Returns the name of a sample's file, unique for its id and safe in any file system: 'test_dia0%2F3.jsonl'."""
    name = quote(sample, safe=" ,;=@+()")
    name = name.replace(".", "%2E", 1) if name.startswith(".") else name
    if len(name) > _LONGEST or sample != sample.lower():  # some file systems ignore case
        name = f"{name[:100]}%-{hashlib.sha256(name.encode()).hexdigest()[:32]}"  # no quoted id contains "%-"
    return name + SUFFIX


def events_file(run: Path, sample: str) -> Path:
    return run / SAMPLES / file_name(sample)


@contextmanager
def recording(run: Path, sample: str) -> Iterator[Emit]:
    """Writes the events of one attempt as they happen. The file gets its name when the block ends: an error leaves no
    file, and a killed process leaves a `.part`. Raises RunError if writing fails."""
    path, written = events_file(run, sample), hashlib.sha256()
    with replace_file(path, buffering=0) as file:

        def emit(event: Event) -> None:
            if isinstance(event, END_EVENTS):
                event = event.model_copy(update={"before": written.hexdigest()[:16]})
            left = _ENCODER.encode(event.model_dump(mode="json")).encode(errors="replace") + b"\n"
            written.update(left)
            with wrap_os_errors(path):
                while left:
                    left = left[file.write(left) :]

        yield emit


def read_events(run: Path, sample: str) -> list[Event]:
    """Reads the events of the sample's last finished attempt. Raises RunError if the file cannot be read or was
    changed."""
    path = events_file(run, sample)
    events: list[Event] = []
    try:
        with path.open("rb") as file:
            lines = list(file)
        for line in lines:
            events.append(_parse_event(line, sample))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"the events of {sample} cannot be read: {describe_error(error)}", where=str(path)) from error
    except ValueError as error:
        what = f"line {len(events) + 1} is not an event of this sample: {describe_error(error)}"
        raise RunError(what, where=str(path), hint=AGAIN) from error
    ends = [event for event in (*events[:1], *events[-1:]) if isinstance(event, (SampleStarted, *END_EVENTS))]
    before = hashlib.sha256(b"".join(lines[:-1])).hexdigest()[:16]
    if ends and not (isinstance(ends[-1], END_EVENTS) and ends[-1].before == before):
        what = f"the events of {sample} are damaged: a line is missing, duplicated or changed"
        raise RunError(what, where=str(path), hint=AGAIN)
    return [event.model_copy(update={"before": ""}) if isinstance(event, END_EVENTS) else event for event in events]


def _parse_event(line: bytes, sample: str) -> Event:
    event = EVENT.validate_json(line)
    if event.sample != sample:
        raise ValueError(f"it belongs to sample {event.sample!r}")
    return event
