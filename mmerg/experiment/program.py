"""A command as a Hydra program, with Hydra's command line and mmerg's errors and exit codes.

def main() -> int:
    return run_program("data", job, __doc__)    # job(settings) does the work
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mmerg.console.terminal import EXIT_ERROR, RESUMES, handle_signals, run_command
from mmerg.errors import ConfigError
from mmerg.settings.groups import check_folder, conf_folder, list_options, with_backend

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from mmerg.experiment.sweep import JobOutcome
    from mmerg.runs.result import RunOutcome

MORE_HELP = """`--cfg job` prints all settings, `--cfg job -p system` those of a group; the files in conf/ explain them.
`--info` says where they come from, and `--hydra-help` lists Hydra's flags."""
CODES: list[int] = []  # the exit codes of this process's jobs, in order
ROWS: list[str] = []  # the names of the sweep's rows that this process started, the current one last: "top_k=3"
# A job gets the settings, and returns its exit code or the outcome of its run.
Job: TypeAlias = "Callable[[Any], int | RunOutcome]"


def run_program(config_name: str, job: Job, usage: str | None, *, interrupted: str = RESUMES) -> int:
    """Runs `job` with the settings that Hydra composes, and returns the exit code. usage: the first lines of --help.
    interrupted: the text to print after Ctrl-C or SIGTERM."""
    received = handle_signals(signal.SIGINT)

    def command() -> int:
        try:
            return _run(config_name, job, usage)
        except Exception:
            if received:  # Hydra may have replaced the interruption with an error
                raise KeyboardInterrupt from None
            raise

    return run_command(command, interrupted)


def _run(config_name: str, job: Job, usage: str | None) -> int:
    import hydra
    from hydra._internal.utils import get_args_parser
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    from mmerg.settings import ollama_models
    from mmerg.settings.kinds import NO_PASSWORD, PASSWORD
    from mmerg.settings.overrides import prepare_override

    ollama_models.register()
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises its errors instead of printing them
    # Hydra allows no flags between settings, so flags come first.
    overrides = with_backend([prepare_override(word) for word in sys.argv[1:]])
    sys.argv[1:] = sorted(overrides, key=lambda word: "=" in word and not word.startswith("-"))
    for word in filter(PASSWORD.search, sys.argv[1:]):  # Hydra writes the settings of a sweep before they are checked
        raise ConfigError(f"{word.partition('=')[0]} contains a password", where="command line", hint=NO_PASSWORD)
    if {"-sc", "--shell-completion"} & set(sys.argv):
        sys.argv[0] = "mmerg"  # the completed program
    CODES.clear()
    given, unknown = get_args_parser().parse_known_args()
    if unknown:
        raise ConfigError(f"there is no option {unknown[0]}", where="command line", hint="set key=value; see --help")
    own = check_folder(Path(given.config_dir)) if given.config_dir else None
    try:
        if given.help:
            print(_help(config_name, usage or "", own))  # noqa: T201
            return 0
        hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=config_name)(
            _task(config_name, job)
        )()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else EXIT_ERROR
        return EXIT_ERROR if code == 1 else code  # 1: Hydra refused an argument
    except (HydraException, OmegaConfBaseException, YAMLError) as error:
        from mmerg.settings.compose import explain_error

        raise explain_error(error, config_name, given.overrides, own, sweep=given.multirun) from error
    except ValueError as error:
        if CODES:
            raise
        raise ConfigError(str(error), where="command line", hint="--hydra-help lists Hydra's flags") from error
    return max(CODES, default=0)


def _help(config_name: str, usage: str, own: Path | None) -> str:
    """Returns the usage, the command's config groups, and its config file, whose comments explain its own settings."""
    from mmerg.settings.commands import COMMANDS
    from mmerg.settings.explain import list_command_groups

    groups = [
        f"{group}: {', '.join(list_options(group, own))}" for group in list_command_groups(COMMANDS[config_name], own)
    ]
    listed = "\n".join(("Groups (group=option):\n", *groups, "\n")) if groups else ""
    config = (conf_folder() / f"{config_name}.yaml").read_text(encoding="utf-8")
    settings = re.sub(r" +- (hydra/program|_self_)\n", "", config).replace("defaults:\n\n", "")
    return f"{usage.strip()}\n\n{listed}Settings (key=value):\n\n{settings}\n{MORE_HELP}"


def _task(config_name: str, job: Job) -> Callable[[DictConfig], JobOutcome]:
    """Returns the function that Hydra calls for each job, here or in a launcher's process."""

    @wraps(job)
    def task(config: DictConfig) -> JobOutcome:
        from mmerg.experiment.sweep import JobOutcome
        from mmerg.settings.commands import COMMANDS
        from mmerg.settings.parse import get_user_folders, parse

        CODES.append(0)  # errors from here on are the job's
        outcome = JobOutcome.execute(lambda: job(parse(config, COMMANDS[config_name], get_user_folders())))
        CODES.append(outcome.code)
        return outcome

    return task


def split_paths(arguments: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Splits arguments into paths and those for Hydra, from the first option or key=value that is no folder."""

    def is_path(argument: str) -> bool:  # the folders of a sweep's runs have "=" in their names
        is_folder = os.path.isdir(argument)  # noqa: PTH112  (Path's raises for a name as long as a setting may be)
        return not argument.startswith("-") and ("=" not in argument or is_folder)

    paths = list(takewhile(is_path, arguments))
    return list(map(Path, paths)), list(arguments[len(paths) :])


def is_sweep() -> bool:
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    return HydraConfig.get().mode == RunMode.MULTIRUN
