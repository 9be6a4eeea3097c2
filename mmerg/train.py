"""Trains the small empathetic model of HEF: `mmerg train sem dataset=empathetic dataset.root=… out=sem`.

Fits a classifier of emotions to the training split, over words or embeddings (`features=minilm`), prints its figures on
the validation split, and writes one folder, which `mmerg run system=hef sem=…` takes. A page in it shows which label is
taken for which. Nothing is drawn: the same data give the same files.
Exit code 0 trained, 2 configuration or input wrong, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from mmerg.console.terminal import STARTS_OVER, run_command, start
from mmerg.errors import ConfigError
from mmerg.settings.command import composing

if TYPE_CHECKING:
    from mmerg.settings.model import TrainSettings

KINDS = ("sem",)


def job(settings: Callable[[], TrainSettings]) -> int:
    """The training, its errors printed."""
    from mmerg.experiment.training import train  # only once there is something to train: --help stays quick

    return run_command(lambda: train(settings()), STARTS_OVER)


def command() -> int:
    """Raises ConfigError where the command line does not begin with what is trained."""
    kind, rest = next(iter(sys.argv[1:]), ""), sys.argv[2:]
    if kind not in KINDS:
        rest = sys.argv[1:]
        if not {"-h", "--help", "--version"} & set(rest):
            what = f"there is nothing to train called {kind!r}" if kind else "what is to be trained is not said"
            hint = "mmerg train sem dataset=empathetic dataset.root=… out=sem"
            raise ConfigError(what, where="command line", hint=hint)
    return composing(job, "train", __doc__, rest)


def main() -> int:
    """The command."""
    return run_command(command, STARTS_OVER)


if __name__ == "__main__":
    start(main)
