"""A chat as run folders, one for each system that answered in it: `mmerg show` and `mmerg report` open them.

The server keeps nothing of a chat. Its page holds each reply's trace, and sends those that are to be saved.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from pydantic import Base64Bytes, BaseModel, ConfigDict, Json

from mmerg.runs.events import Emit, Event
from mmerg.runs.folder import Run
from mmerg.runs.manifest import Manifest, ProtocolSection
from mmerg.runs.result import Result
from mmerg.serving.refused import HttpError
from mmerg.storage.record import Record

REPLY = re.compile(r"[0-9a-zA-Z-]{1,64}/\d{1,6}")  # how the results of a chat are called


class Trace(Record):
    """All that is known of a reply, or of how it failed; `manifest` says what made it."""

    manifest: Manifest
    result: Result
    events: tuple[Event, ...]


class SavedReply(BaseModel):
    """frames: JPEGs in base64, where their user allows them to be kept."""

    model_config = ConfigDict(extra="forbid")

    trace: Json[Trace]
    frames: tuple[Base64Bytes, ...] = ()


def save(runs: Path, replies: Sequence[SavedReply]) -> list[Path]:
    """Writes replies; returns the folders, one for each system and model that answered. Raises HttpError where there
    are none, or one is none of a chat, RunError where a folder cannot be written."""
    if not replies:
        raise HttpError("there is no reply to save", where="replies", hint="say something first")
    groups: dict[str, list[SavedReply]] = {}
    for reply in replies:
        trace = reply.trace
        if not REPLY.fullmatch(trace.result.id) or not re.fullmatch(r"\w{1,64}", trace.manifest.system):
            raise HttpError("this is not a reply of a chat", where=trace.result.id)
        groups.setdefault(trace.manifest.model_dump_json(exclude={"sessions"}), []).append(reply)
    return [_write(runs, group) for group in groups.values()]


def _write(runs: Path, replies: Sequence[SavedReply]) -> Path:
    manifest = replies[0].trace.manifest
    ids = [reply.trace.result.id for reply in replies]
    protocol = ProtocolSection(
        description=manifest.protocol.description,
        samples=len(ids),
        dialogues=len({one.rpartition("/")[0] for one in ids}),  # a chat for each of two columns
    )
    folder = runs / f"chat-{manifest.system}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(4)}"
    with Run(folder, manifest.model_copy(update={"protocol": protocol})) as run:
        for reply in replies:
            _record(run, reply)
    return folder


def _record(run: Run, reply: SavedReply) -> None:
    trace = reply.trace

    def replay(emit: Emit) -> Result:
        for event in trace.events:
            emit(event)
        return trace.result

    run.record(trace.result.id, replay)
    for data in reply.frames:
        run.keep_frame(sha256(data).hexdigest(), lambda data=data: data)  # type: ignore[misc]
