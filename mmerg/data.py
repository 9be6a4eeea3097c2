"""Checks a corpus and its clips before a run: `mmerg data dataset=meld dataset.root=…`.

Compares counts with the official ones, counts the targets of the protocol, and finds clips that are missing, that are
over 1.5 times as long as their row, whose span lies outside the picture, or that targets show but that give no frames.
Takes the settings of `mmerg run` and calls no model.
Exit code 0 sound, 1 something is wrong with the data, 2 configuration or input wrong, 130 interrupted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmerg.console.terminal import STARTS_OVER, start
from mmerg.experiment.program import run_program

if TYPE_CHECKING:
    from mmerg.settings.model import RunSettings


def job(settings: RunSettings) -> int:
    from mmerg.checking.check import check_data  # imported late, so that --help is quick

    return check_data(settings)


def main() -> int:
    return run_program("data", job, __doc__, interrupted=STARTS_OVER)


if __name__ == "__main__":
    start(main)
