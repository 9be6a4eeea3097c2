"""Chats as run folders, one for each system that replied. `mmerg show` and `mmerg report` open them.

The server stores no chats. The page holds the trace of each reply, and sends the traces back to save them.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from pydantic import Base64Bytes, BaseModel, ConfigDict, Json

from mmerg.runs.events import Emit, Event
from mmerg.runs.folder import Run
from mmerg.runs.manifest import Manifest, ProtocolSection
from mmerg.runs.result import Result
from mmerg.serving.http_error import HttpError
from mmerg.storage.record import Record

REPLY_ID = re.compile(r"[0-9a-zA-Z-]{1,64}/\d{1,6}")  # the id of a chat's result


class ReplyTrace(Record):
    """A reply or a failed turn, with its events and the manifest of its system."""

    manifest: Manifest
    result: Result
    events: tuple[Event, ...]


class SavedReply(BaseModel):
    """A reply to save."""

    model_config = ConfigDict(extra="forbid")

    trace: Json[ReplyTrace]
    frames: tuple[Base64Bytes, ...] = ()  # JPEGs in base64; empty if the user does not want to save them


def save(runs: Path, replies: Sequence[SavedReply]) -> list[Path]:
    """Writes replies below the folder `runs`. Returns the new folders, one for each system and model. Raises HttpError
    without replies, or if something is not the reply of a chat, and RunError if a folder cannot be written."""
    if not replies:
        raise HttpError("there is no reply to save", where="replies", hint="send a message first")
    groups: dict[str, list[SavedReply]] = {}
    for reply in replies:
        trace = reply.trace
        if not REPLY_ID.fullmatch(trace.result.id) or not re.fullmatch(r"\w{1,64}", trace.manifest.system):
            raise HttpError("this is not a reply of a chat", where=trace.result.id)
        groups.setdefault(trace.manifest.model_dump_json(exclude={"sessions"}), []).append(reply)
    return [_write(runs, group) for group in groups.values()]


def _write(runs: Path, replies: Sequence[SavedReply]) -> Path:
    manifest = replies[0].trace.manifest
    ids = [reply.trace.result.id for reply in replies]
    protocol = ProtocolSection(
        description=manifest.protocol.description,
        samples=len(ids),
        dialogues=len({id.rpartition("/")[0] for id in ids}),  # two systems side by side are two chats
    )
    folder = runs / f"chat-{manifest.system}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(4)}"
    with Run(folder, manifest.model_copy(update={"protocol": protocol})) as run:
        for reply in replies:
            run.record(reply.trace.result.id, partial(_replay, reply.trace))
            for data in reply.frames:
                run.keep_frame(sha256(data).hexdigest(), partial(bytes, data))
    return folder


def _replay(trace: ReplyTrace, emit: Emit) -> Result:
    for event in trace.events:
        emit(event)
    return trace.result
