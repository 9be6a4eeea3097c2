"""Checks a corpus and its clips before a run: `mmerg data dataset=meld dataset.root=…`.

Compares counts with the official ones, finds clips that are missing or give no frames, and counts the targets of the
protocol. Takes the settings of `mmerg run` and calls no model.
Exit code 0 sound, 1 something is wrong with the data or a run would refuse the memory, 2 configuration or input wrong,
130 interrupted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmerg.console.terminal import start
from mmerg.experiment.program import run_program

if TYPE_CHECKING:
    from mmerg.settings.commands import DataSettings

NO_REPORT = "no report is written; the same command starts over"


def job(settings: DataSettings) -> int:
    """The check."""
    from mmerg.checking.check import check_data  # only once there is something to check: --help stays quick

    return check_data(settings)


def main() -> int:
    """The command."""
    return run_program("data", job, __doc__, interrupted=NO_REPORT)


if __name__ == "__main__":
    start(main)
