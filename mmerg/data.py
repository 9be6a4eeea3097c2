"""Checks a corpus and its clips before a run is spent on them: `python -m mmerg.data dataset=meld dataset.root=…`.

Counts against the official ones, clips missing or that give no frames, what the protocol takes; asks no model. With
`sheet=12` it shows the frames of twelve samples on a page. Takes the settings of `python -m mmerg.run`.
Exit code 0 sound, 1 something is wrong with the data or a run would refuse the memory, 2 configuration or input wrong,
130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from mmerg.console.terminal import run_command, start
from mmerg.settings.command import composing

if TYPE_CHECKING:
    from mmerg.settings.model import DataSettings

NO_REPORT = "no report is written, and a check starts over"


def main() -> int:
    """The command."""

    def job(settings: Callable[[], DataSettings]) -> int:
        from mmerg.checking.check import check_data  # only once there is something to check: --help stays quick

        return run_command(lambda: check_data(settings()), NO_REPORT)

    return run_command(lambda: composing(job, "data", __doc__, sys.argv[1:]), NO_REPORT)


if __name__ == "__main__":
    start(main)
