"""The base of what is written to files and read back, and of what stages answer."""

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from mmerg.storage.files import write_whole


class Record(BaseModel):
    """Cannot be changed, and is read as it was written or refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Kind = TypeVar("Kind", bound=Record)


def write_record(path: Path, record: Record, *, durable: bool = False) -> None:
    """Write a file whole or not at all; durable: wait until the disk has it. Raises RunError where it cannot be
    written."""
    write_whole(path, to_json(record), durable=durable)


def to_json(record: Record) -> str:
    """The record as JSON text for a file."""
    return json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


def read_record(path: Path, kind: type[Kind]) -> Kind:
    """What `write_record` wrote. Raises OSError where the file cannot be read, ValueError where it is no such thing."""
    return kind.model_validate_json(path.read_bytes())
