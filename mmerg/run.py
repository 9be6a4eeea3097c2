"""Runs a system on a dataset: `mmerg run dataset=demo backend=embedded`.

Writes a run folder, shows progress, prints the replies, and ends with `run: <path>`. The same command resumes.
Exit code 0 all fine, 1 some samples failed, 2 configuration or input wrong, 130 interrupted.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mmerg.console.terminal import start
from mmerg.experiment.program import is_sweep, run_program

if TYPE_CHECKING:
    from mmerg.api.run import Run
    from mmerg.runs.result import RunOutcome
    from mmerg.settings.model import RunSettings


def job(settings: RunSettings) -> RunOutcome:
    from mmerg.experiment.launch import launch  # only once there is something to run: --help stays quick
    from mmerg.experiment.program import ROWS  # those of this process: launchers copy this module's globals to others

    sweep = is_sweep()
    return launch(settings, brief=sweep, row=ROWS[-1] if sweep and ROWS else "")


def main() -> int:
    return run_program("config", job, __doc__)


class _Callable(ModuleType):
    """This module, which can also be called as the function `mmerg.run` that it replaces when it is imported."""

    def __call__(self, *overrides: str, **settings: Any) -> Run:
        from mmerg.api.run import run

        return run(*overrides, **settings)


sys.modules[__name__].__class__ = _Callable

if __name__ == "__main__":
    start(main)
