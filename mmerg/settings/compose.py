"""The config of a command, composed in code as its command line does: `compose("config", ["dataset=demo"])`."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from mmerg.errors import ConfigError
from mmerg.settings import ollama_models
from mmerg.settings.commands import COMMANDS
from mmerg.settings.explain import find_problems
from mmerg.settings.groups import conf_folder, with_backend
from mmerg.settings.kinds import PASSWORD
from mmerg.settings.parse import try_parse
from mmerg.settings.problems import COMMAND_LINE, Problem, combine_problems

FAILURES = (HydraException, OmegaConfBaseException, YAMLError)  # what Hydra raises if a config does not compose
ollama_models.register()
_composing = threading.RLock()  # Hydra's state is global to the process


def compose(config_name: str, overrides: Sequence[str], own: Path | None = None) -> DictConfig:
    """Composes the config of a command with these overrides. own: the user's folder of configs, as for `--config-dir`.
    Raises ConfigError, which lists all problems, if they do not compose."""
    more = [f"hydra.searchpath=['file://{own}']"] if own else []
    with _composing:
        program = GlobalHydra.instance().hydra  # of the running job, if this is called in one
        GlobalHydra.instance().clear()
        try:
            with initialize_config_dir(str(conf_folder()), version_base="1.3"):
                return hydra_compose(config_name, [*with_backend(overrides), *more])
        except FAILURES as error:
            raise explain_error(error, config_name, overrides, own) from error
        finally:
            GlobalHydra.instance().hydra = program


def explain_error(
    error: Exception, config_name: str, overrides: Sequence[str], own: Path | None = None, *, sweep: bool = False
) -> ConfigError:
    """Translates an error of Hydra: lists all problems with the overrides, or else repeats what Hydra says."""
    kind = COMMANDS[config_name]
    found = {override: list(find_problems(override, kind, own, sweep=sweep)) for override in overrides}
    problems = [problem for problems_here in found.values() for problem in problems_here]
    if problems:
        return combine_problems(problems if sweep else [*problems, *_others(found, config_name, own)])
    what = PASSWORD.sub("://***@", " ".join(f"{error} {error.__cause__ or ''}".split()))
    return ConfigError(what, where=COMMAND_LINE, hint="--help lists groups and settings")


def _others(found: Mapping[str, Sequence[Problem]], config_name: str, own: Path | None) -> Iterator[Problem]:
    """Finds problems in the settings that the valid overrides compose."""
    named = {problem.key for problems_here in found.values() for problem in problems_here}
    with suppress(ConfigError):
        config = compose(config_name, [override for override, problems_here in found.items() if not problems_here], own)
        problems = try_parse(config, COMMANDS[config_name], [own] if own else [])[1]
        yield from (problem for problem in problems if problem.key.partition(".")[0] not in named)
