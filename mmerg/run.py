"""Runs a system over a dataset: `python -m mmerg.run dataset=demo backend=embedded`.

Writes one run folder, shows progress, prints the replies, and ends with `run: <path>`. The same command resumes.
Exit code 0 all fine, 1 some samples failed, 2 configuration or input wrong, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from mmerg.console.terminal import end_in_good_order, run_command, start
from mmerg.settings.command import composing

if TYPE_CHECKING:
    from mmerg.settings.model import RunSettings


def job(settings: Callable[[], RunSettings]) -> int:
    """The run, or one a repeat, its errors printed; in a sweep, word of its end is left for the report."""
    # Only once there is something to run: --help stays quick.
    from mmerg.experiment.launch import launch
    from mmerg.experiment.sweep import in_sweep, member, note

    ended = member(lambda: launch(settings()))
    if in_sweep():
        note(ended)
    return ended.code


def main() -> int:
    """The command. Ctrl-C reaches a sweep whose members are other processes here, outside of any member. What ends a
    job of a cluster (SIGTERM) ends it as Ctrl-C does: replies are still copied from scratch."""
    end_in_good_order()
    return run_command(lambda: composing(job, "config", __doc__, sys.argv[1:]))


if __name__ == "__main__":
    start(main)
