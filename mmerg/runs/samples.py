"""The events of a run's samples, one file a sample: `samples/<quoted id>.jsonl`, a line an event.

Events are written as they happen, to a file of a random name that gets its own name once the sample is finished. So a
file with that name is always whole and holds one try, and a killed process leaves a `.part` that the next start takes
away.

    with recording(run, "test_dia0/3") as emit:
        emit(event)
    read_events(run, "test_dia0/3")
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from urllib.parse import quote

from pydantic import ValidationError

from mmerg.errors import RunError, unwritable
from mmerg.runs.events import EVENT, Called, Emit, Event
from mmerg.storage.files import SAFE, open_regular

SAMPLES, ENDING, PART = "samples", ".jsonl", ".part"
_LONGEST = 200  # bytes of a name; file systems take 255, and a part has some more
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def file_name(sample: str) -> str:
    """The name of a sample's file, without its ending: another one for every id, safe in any file system.

    >>> file_name("test_dia0/3")
    'test_dia0%2F3'
    """
    name = quote(sample, safe=" ,;=@+()", errors="surrogatepass")
    name = name.replace(".", "%2E", 1) if name.startswith(".") else name
    if len(name) > _LONGEST:  # no id is quoted as "%-"
        name = f"{name[:100]}%-{hashlib.sha256(name.encode()).hexdigest()}"
    return name


def events_file(run: Path, sample: str) -> Path:
    """Where the events of a finished sample are."""
    return run / SAMPLES / (file_name(sample) + ENDING)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """An error of the system as a RunError that names `path`."""
    try:
        yield
    except OSError as error:
        raise unwritable(error, path) from error


@contextmanager
def recording(run: Path, sample: str) -> Iterator[Emit]:
    """Takes the events of one try. The file is there once the block ends well; after an error nothing is left.

    Raises RunError where it cannot be written.
    """
    path = events_file(run, sample)
    with writing(path):
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f"{path.stem}.", suffix=PART)
    with os.fdopen(handle, "wb", buffering=0) as file:

        def emit(event: Event) -> None:
            # Not pydantic's own JSON: that refuses lone surrogates, which models and transcripts do hold.
            left = _ENCODER.encode(event.model_dump(mode="json")).encode(errors=SAFE) + b"\n"
            with writing(path):
                while left:
                    left = left[file.write(left) :]

        try:
            yield emit
            with writing(path):
                os.replace(part, path)  # noqa: PTH105
        except BaseException:
            with suppress(OSError):
                os.unlink(part)  # noqa: PTH108
            raise


def read_events(run: Path, sample: str) -> list[Event]:
    """The events of the sample's last finished try; of the one under way where none is finished, and none where none
    was begun. Raises RunError where the file cannot be read."""
    path = events_file(run, sample)
    if path.exists():
        return list(_events(path, sample, whole=True))
    if not path.parent.is_dir():
        hint = "put them back, or run the same again: finished calls come from the reply cache"
        raise RunError("the events of this run are gone", where=str(path.parent), hint=hint)
    part = next(path.parent.glob(f"{path.stem}.????????{PART}"), None)
    return list(_events(part, sample, whole=False)) if part else []


def why(error: OSError | ValueError | RecursionError) -> str:
    """What is wrong with a line or a file, in a few words."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"{place}: {first['msg'].removeprefix('Value error, ')}" if place else first["msg"]
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"it is no JSON ({error})" if isinstance(error, json.JSONDecodeError) else str(error)


def _events(path: Path, sample: str, *, whole: bool) -> Iterator[Event]:
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, start=1):
                if not (whole or line.endswith(b"\n")):
                    return  # it is being written
                try:
                    yield _event(line, sample)
                except (ValueError, RecursionError) as error:
                    what = f"line {number} is no event of this sample: {why(error)}"
                    hint = "remove the file, and run the same again: it is then done again, from the reply cache"
                    raise RunError(what, where=str(path), hint=hint) from error
    except OSError as error:
        raise RunError(f"the events of {sample} cannot be read: {why(error)}", where=str(path)) from error


def _event(line: bytes, sample: str) -> Event:
    event = EVENT.validate_python(json.loads(line.decode()))
    if event.sample != sample:
        raise ValueError(f"it is of the sample {event.sample!r}")
    if isinstance(event, Called) and not isfinite(event.reply.seconds + event.reply.prompt_seconds):
        raise ValueError("reply.seconds is no number")
    return event
