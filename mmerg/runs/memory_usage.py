"""The memory that a run's model took, beside the run as `memory.json`. It decides no result."""

from contextlib import suppress
from pathlib import Path

from mmerg.storage.record import Record, read_record, write_record

MEMORY = "memory.json"


class MemoryUsage(Record):
    """gib: the model's size in memory, in GiB. on_cpu: the share of it on the CPU in %, None where not known."""

    gib: float
    on_cpu: float | None = None


def write_memory_usage(run: Path, usage: MemoryUsage) -> None:
    """Raises RunError where it cannot be written."""
    write_record(run / MEMORY, usage)


def read_memory_usage(run: Path) -> MemoryUsage | None:
    """None where it was not measured, as where every reply came from the cache."""
    with suppress(OSError, ValueError):
        return read_record(run / MEMORY, MemoryUsage)
    return None
