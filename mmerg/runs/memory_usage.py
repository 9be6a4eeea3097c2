"""The memory that a run's model took, which the run's `memory.json` records."""

from contextlib import suppress
from pathlib import Path

from mmerg.errors import RunError
from mmerg.storage.record import Record, read_record

MEMORY = "memory.json"


class MemoryUsage(Record):
    """The size of a model in memory in GiB, and the share of it on the CPU in % (None if unknown)."""

    gib: float
    on_cpu: float | None = None


def read_memory_usage(run: Path) -> MemoryUsage | None:
    """Reads the memory usage; None if it was not measured, as when every completion came from the cache."""
    with suppress(FileNotFoundError, RunError):
        return read_record(run / MEMORY, MemoryUsage)
    return None
