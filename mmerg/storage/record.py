"""The base class of records in files and of the structured replies of stages."""

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from mmerg.storage.files import write_whole


class Record(BaseModel):
    """Immutable; reading refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Kind = TypeVar("Kind", bound=Record)


def write_record(path: Path, record: Record, *, durable: bool = False) -> None:
    """Writes a record in one step. durable: wait until it is on the disk. Raises RunError if it cannot be written."""
    write_whole(path, to_json(record), durable=durable)


def to_json(record: Record) -> str:
    """The record as JSON text for a file."""
    return json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


def read_record(path: Path, kind: type[Kind]) -> Kind:
    """Reads a record. Raises OSError if the file cannot be read, ValueError if it is not such a record."""
    return kind.model_validate_json(path.read_bytes())
