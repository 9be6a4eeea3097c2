"""Checks a corpus and its clips before a run is spent on them: `python -m mmerg.data dataset=meld dataset.root=…`.

Counts against the official ones, clips missing or that give no frames, what the protocol takes; asks no model. With
`sheet=12` it shows the frames of twelve samples on a page. Takes the settings of `python -m mmerg.run`.
Exit code 0 sound, 1 something is wrong with the data or a run would refuse the memory, 2 configuration or input wrong,
130 interrupted.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mmerg.console.terminal import run_command, tolerate_closed_output
from mmerg.settings.command import composing

if TYPE_CHECKING:
    from omegaconf import DictConfig

NO_REPORT = "no report is written, and a check starts over"


def job(config: DictConfig) -> int:
    """The check, its errors printed."""
    # Only once there is something to check: --help stays quick.
    from mmerg.checking.check import check_data
    from mmerg.settings.model import DataSettings
    from mmerg.settings.parse import parse

    return run_command(lambda: check_data(parse(config, DataSettings)), NO_REPORT)


def main() -> int:
    """The command."""
    return run_command(lambda: composing(job, "data", __doc__, sys.argv[1:]), NO_REPORT)


if __name__ == "__main__":
    tolerate_closed_output()
    sys.exit(main())
