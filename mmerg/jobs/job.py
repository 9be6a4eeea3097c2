"""What starts jobs, and what a job is: implemented with submitit (`batch.py`) and with Ray (`ray_tasks.py`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from mmerg.jobs.work import Work


class Job(Protocol):
    """A job that was handed over. name: what the scheduler calls it."""

    name: str

    def ended(self) -> bool:
        """Whether it is over, however it ended: what it did is in the shard's folder."""

    def code(self) -> int | None:
        """The exit code of the run, once it is over; None where its process died."""

    def cancel(self) -> None:
        """Have it end in good order: what is in flight is given up."""

    def log(self) -> str:
        """The last lines that it printed."""


class Jobs(Protocol):
    """Where jobs run. at_once: how many are handed over at a time, None for all. ctrl_c: what becomes of those at work
    on Ctrl-C. remote: whether they run on other machines. package: what must be installed."""

    at_once: int | None
    ctrl_c: Literal["leave", "cancel"]
    remote: bool
    package: str

    def start(self, works: Sequence[Work], folder: Path) -> Sequence[Job]:
        """Hands over a job a work; their logs and what a scheduler needs go to `folder`. Raises ConfigError where the
        scheduler refuses."""

    def known(self, name: str, folder: Path) -> Job | None:
        """A job of an earlier command that is not over yet."""
