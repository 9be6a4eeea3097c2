"""Lets a model judge the replies of finished runs: `mmerg judge RUN… judge=likert backbone=gemma3-12b`.

judge=likert rates each reply from 1 to 5 and writes judgement-<backbone>@likert.json to every run folder.
judge=pairwise compares two runs in both orders. Give run folders first, then settings. The same command resumes.
Exit code 0 all fine, 1 calls failed for some samples, 2 configuration or input wrong, 130 interrupted.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mmerg.console.terminal import start
from mmerg.experiment.program import run_program, split_paths

if TYPE_CHECKING:
    from mmerg.settings.commands import JudgeSettings


def main() -> int:
    folders, sys.argv[1:] = split_paths(sys.argv[1:])

    def job(settings: JudgeSettings) -> int:
        from mmerg.judging.launch import launch  # only once there is something to judge: --help stays quick

        return launch(settings, folders)

    return run_program("judge", job, __doc__)


if __name__ == "__main__":
    start(main)
