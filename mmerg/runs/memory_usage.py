"""The memory of a run's model, in the run's `memory.json`."""

from contextlib import suppress
from pathlib import Path

from mmerg.storage.record import Record, read_record, write_record

MEMORY = "memory.json"


class MemoryUsage(Record):
    """gib: the model's size in memory, in GiB. on_cpu: the share of it on the CPU in %; None if unknown."""

    gib: float
    on_cpu: float | None = None


def write_memory_usage(run: Path, usage: MemoryUsage) -> None:
    """Raises RunError if the file cannot be written."""
    write_record(run / MEMORY, usage)


def read_memory_usage(run: Path) -> MemoryUsage | None:
    """None if it was not measured, as when the cache gave every reply."""
    with suppress(OSError, ValueError):
        return read_record(run / MEMORY, MemoryUsage)
    return None
