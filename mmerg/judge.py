"""Lets a model judge the replies of finished runs: `mmerg judge RUN… judge=likert backbone=gemma3-12b`.

judge=likert rates each reply from 1 to 5 and writes judgement-<backbone>@likert.json to every run folder.
judge=pairwise compares two runs in both orders. Give run folders first, then settings. The same command resumes.
Exit code 0 all fine, 1 calls failed for some samples, 2 configuration or input wrong, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from mmerg.console.terminal import start
from mmerg.experiment.program import run_program

if TYPE_CHECKING:
    from mmerg.settings.commands import JudgeSettings


def split(arguments: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Splits arguments into run folders and those for Hydra, from the first option or key=value that is no folder."""

    def is_run(argument: str) -> bool:
        is_folder = os.path.isdir(argument)  # noqa: PTH112  (Path's raises for a name as long as a setting may be)
        return not argument.startswith("-") and ("=" not in argument or is_folder)

    folders = list(takewhile(is_run, arguments))
    return list(map(Path, folders)), list(arguments[len(folders) :])


def main() -> int:
    folders, arguments = split(sys.argv[1:])

    def job(settings: JudgeSettings) -> int:
        from mmerg.judging.launch import launch  # only once there is something to judge: --help stays quick

        return launch(settings, folders)

    sys.argv[1:] = arguments
    return run_program("judge", job, __doc__)


if __name__ == "__main__":
    start(main)
