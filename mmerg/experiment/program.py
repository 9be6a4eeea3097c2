"""A command as a Hydra program: Hydra's command line, mmerg's errors and exit codes.

def main() -> int:
    return run_program("data", job, __doc__)    # job(settings) does the work
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mmerg.console.terminal import GOES_ON, WRONG, end_in_good_order, run_command
from mmerg.errors import ConfigError
from mmerg.settings.pages import conf_folder

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from mmerg.experiment.sweep import Outcome
    from mmerg.runs.result import Ended

Job: TypeAlias = "Callable[[Any], int | Iterable[Ended]]"  # from settings to an exit code, or to how runs ended
CODES: list[int] = []  # the exit codes of this process's jobs: Hydra drops what they return


def run_program(page: str, job: Job, usage: str | None, *, interrupted: str = GOES_ON) -> int:
    """Runs `job` with the settings that Hydra composes of `page` and the command line, and gives the exit code. usage:
    the first lines of --help. interrupted: what is printed after Ctrl-C or SIGTERM."""
    came = end_in_good_order(signal.SIGINT)

    def command() -> int:
        try:
            return _run(page, job, usage)
        except Exception:
            if came:  # Hydra may have made another error of the interruption
                raise KeyboardInterrupt from None
            raise

    return run_command(command, interrupted)


def _run(page: str, job: Job, usage: str | None) -> int:
    import hydra
    from hydra._internal.utils import get_args_parser
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises its errors, and does not print them
    OmegaConf.register_new_resolver("usage", (usage or "").strip, replace=True)
    sys.argv[1:] = [expanded(word) for word in sys.argv[1:]]
    _refuse_passwords(sys.argv[1:])
    if {"-sc", "--shell-completion"} & set(sys.argv):
        sys.argv[0] = "mmerg"  # what is completed
    CODES.clear()
    try:
        hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=page)(_task(page, job))()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) and ended.code != 1 else WRONG  # 1: Hydra refused something
    except (HydraException, OmegaConfBaseException, YAMLError) as error:
        from mmerg.settings.explain import explained

        given, _ = get_args_parser().parse_known_args()
        own = Path(given.config_dir).absolute() if given.config_dir else None
        raise explained(error, page, given.overrides, own, sweep=given.multirun) from error
    except ValueError as error:
        if CODES:
            raise
        raise ConfigError(str(error), where="command line", hint="--hydra-help lists Hydra's flags") from error
    return max(CODES, default=0)


def _task(page: str, job: Job) -> Callable[[DictConfig], Outcome]:
    """What Hydra calls for each job, here or where a launcher runs it."""

    @wraps(job)
    def task(config: DictConfig) -> Outcome:
        from mmerg.experiment.sweep import Outcome
        from mmerg.settings.model import COMMANDS
        from mmerg.settings.parse import own_folders, parse

        outcome = Outcome.of(lambda: job(parse(config, COMMANDS[page], own_folders())))
        CODES.append(outcome.code)
        return outcome

    return task


def is_sweep() -> bool:
    """Whether this job is one of a sweep."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    return HydraConfig.get().mode == RunMode.MULTIRUN


def expanded(word: str) -> str:
    """A word with the home in place of ~, which shells leave in `dataset.root=~/MELD` and Hydra's grammar lacks."""
    return re.sub(r"^([\w./@+-]+=)~(?=/|$)", lambda match: match[1] + str(Path.home()), word)


def _refuse_passwords(words: Iterable[str]) -> None:
    from mmerg.settings.kinds import NO_PASSWORD, PASSWORD

    for word in words:
        if PASSWORD.search(word):
            what = f"{word.partition('=')[0]} holds a password"
            raise ConfigError(what, where="command line", hint=NO_PASSWORD)
