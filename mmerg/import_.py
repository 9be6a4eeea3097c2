"""Makes a run of another system's replies: `mmerg import replies=FILE.jsonl dataset=meld name=CEM`.

Each line of the file is a sample: {"id": "test_dia0/3", "response": "Oh no.", "emotion": "sadness"}; emotion is
optional. Score, compare, judge and show the run like any other. Samples without a line count as failed.
Exit code 0 all samples have a reply, 1 some have none, 2 configuration or input wrong and nothing written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmerg.console.terminal import STARTS_OVER, start
from mmerg.experiment.program import run_program

if TYPE_CHECKING:
    from mmerg.settings.commands import ImportSettings


def job(settings: ImportSettings) -> int:
    from mmerg.experiment.importing import import_replies  # only once there is something to import: --help stays quick

    return import_replies(settings)


def main() -> int:
    return run_program("import", job, __doc__, interrupted=STARTS_OVER)


if __name__ == "__main__":
    start(main)
