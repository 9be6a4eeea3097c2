"""Runs a system over a dataset in shards, each a job: `mmerg cluster run on=slurm shards=64 dataset=…`.

Settings are those of `mmerg run`, as key=value, and on=local (processes here), slurm or ray with theirs. The same
command goes on: shards that are done stay, jobs at work are watched again, the others are handed over again. At
the end the shards are merged, and the last line is `run: <path>`, as `mmerg run` prints it.
Exit code 0 all fine, 1 some samples failed, 2 configuration or input wrong, or a shard did not come to its end, 130
interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmerg.console.terminal import run_command, start
from mmerg.errors import ConfigError
from mmerg.settings.command import run_composed

if TYPE_CHECKING:
    from mmerg.settings.model import ClusterSettings


def main(arguments: Sequence[str] | None = None, look_every: float = 0.5) -> int:
    """The command. look_every: seconds between two looks at the jobs."""
    what, *arguments = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if what in ("-h", "--help"):
        what, arguments = "run", ["--help"]

    def job(settings: ClusterSettings) -> int:
        from mmerg.jobs.launch import launch_cluster  # only once there is something to run: --help stays quick

        return launch_cluster(settings, arguments, look_every)

    def command() -> int:
        if what != "run":
            raise ConfigError(f"there is no mmerg cluster {what}", where="command line", hint="mmerg cluster run …")
        return run_composed("cluster", job, __doc__, arguments)

    return run_command(command)


if __name__ == "__main__":
    start(main)
