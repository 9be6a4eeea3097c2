"""Makes a run of replies that another system wrote: `mmerg import replies=FILE.jsonl dataset=meld name=CEM`.

Each line of the file is a sample: {"id": "test_dia0/3", "response": "Oh no.", "emotion": "sadness"}, the emotion where
there is one. The run is scored, compared, judged and shown as any other; samples without a line count as failed.
Exit code 0 all samples have a reply, 1 some have none, 2 configuration or input wrong and nothing written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from mmerg.console.terminal import STARTS_OVER, run_command, start
from mmerg.settings.command import composing

if TYPE_CHECKING:
    from mmerg.settings.model import ImportSettings


def job(settings: Callable[[], ImportSettings]) -> int:
    """The import, its errors printed."""
    from mmerg.experiment.importing import import_replies  # only once there is something to import: --help stays quick

    return run_command(lambda: import_replies(settings()), STARTS_OVER)


def main() -> int:
    """The command."""
    return run_command(lambda: composing(job, "import", __doc__, sys.argv[1:]), STARTS_OVER)


if __name__ == "__main__":
    start(main)
