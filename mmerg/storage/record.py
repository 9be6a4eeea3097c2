"""The base class of records in files and of the structured outputs of stages."""

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from mmerg.errors import RunError
from mmerg.storage.files import describe_error, write_atomically


class Record(BaseModel):
    """An immutable record. Unknown fields are refused when it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")


RecordType = TypeVar("RecordType", bound=Record)


def write_record(path: Path, record: Record, *, durable: bool = False) -> None:
    """Writes a record in one step; with `durable`, waits until it is on the disk. Raises RunError if this fails."""
    write_atomically(path, to_json(record), durable=durable)


def to_json(record: Record) -> str:
    return json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


def read_record(path: Path, record_type: type[RecordType], hint: str = "") -> RecordType:
    """Reads a record. Raises FileNotFoundError, or RunError with `hint` if the file is no such record."""
    try:
        return record_type.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        what = f"{path.name} cannot be read, or is of another version: {describe_error(error)}"
        raise RunError(what, where=str(path), hint=hint) from error
