"""The base of what is written to files and read back, and of what stages answer."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Cannot be changed, and is read as it was written or refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
