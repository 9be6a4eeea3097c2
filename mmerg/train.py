"""Trains the small empathetic model of HEF: `mmerg train sem dataset=empathetic dataset.root=… out=sem`.

Fits a classifier of emotions to the training split, over words or embeddings (`features=minilm`), prints its figures on
the validation split, and writes one folder, which `mmerg run system=hef sem=…` takes. A page in it shows which label is
taken for which. Nothing is drawn: the same data give the same files.
Exit code 0 trained, 2 configuration or input wrong, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmerg.console.terminal import STARTS_OVER, run_command, start
from mmerg.errors import ConfigError
from mmerg.experiment.program import run_program

if TYPE_CHECKING:
    from mmerg.settings.model import TrainSettings


def job(settings: TrainSettings) -> int:
    """The training."""
    from mmerg.experiment.training import train  # only once there is something to train: --help stays quick

    return train(settings)


def check_line(arguments: Sequence[str]) -> int:
    """Raises ConfigError where the command line does not begin with what is trained, or sets a split in vain."""
    if arguments[:1] != ["sem"] and not any(word.startswith("-") for word in arguments):
        hint = "mmerg train sem dataset=empathetic dataset.root=… out=sem"
        what = f"there is nothing to train called {arguments[0]!r}" if arguments else "say what is to be trained"
        raise ConfigError(what, where="command line", hint=hint)
    if "dataset.split" in {word.lstrip("+").partition("=")[0] for word in arguments}:
        what, hint = "dataset.split says nothing to a training", "split=… is what it is fitted to, validation=… another"
        raise ConfigError(what, where="command line", hint=hint)
    return 0


def main() -> int:
    """The command."""
    arguments = sys.argv[1:]
    if code := run_command(lambda: check_line(arguments)):
        return code
    sys.argv[1:] = arguments[1:] if arguments[:1] == ["sem"] else arguments
    return run_program("train", job, __doc__, interrupted=STARTS_OVER)


if __name__ == "__main__":
    start(main)
