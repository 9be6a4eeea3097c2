"""Runs a system over a dataset: `mmerg run dataset=demo backend=embedded`.

Writes one run folder, shows progress, prints the replies, and ends with `run: <path>`. The same command resumes.
Exit code 0 all fine, 1 some samples failed, 2 configuration or input wrong, 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmerg.console.terminal import end_in_good_order, start
from mmerg.settings.command import Row, settings_command

if TYPE_CHECKING:
    from mmerg.settings.model import RunSettings


def job(settings: RunSettings) -> int:
    """The run, or one a repeat."""
    from mmerg.experiment.launch import run_all  # only once there is something to run: --help stays quick

    return run_all(settings)


def sweep(rows: Sequence[Row], at_once: int) -> int:
    """The runs of a sweep, and what they cost."""
    from mmerg.experiment.sweep import run_rows

    return run_rows(rows, at_once)


def main() -> int:
    """The command. SIGTERM, which ends a job of a cluster, ends it as Ctrl-C does."""
    end_in_good_order()
    return settings_command("config", job, __doc__, sweep=sweep)


if __name__ == "__main__":
    start(main)
