"""Composes a command's config in code, as its command line does: `compose("config", ["dataset=demo"])`."""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from mmerg.errors import ConfigError, did_you_mean
from mmerg.settings import ollama_models
from mmerg.settings.commands import COMMANDS
from mmerg.settings.explain import problems_of
from mmerg.settings.kinds import PASSWORD
from mmerg.settings.pages import conf_folder, pages_of, with_backend
from mmerg.settings.parse import parsed
from mmerg.settings.problems import COMMAND_LINE, CONFIGURATION, Problem, error_of

FAILURES = (HydraException, OmegaConfBaseException, YAMLError)  # what Hydra raises where a config does not compose
_NOT_ON_PAGE = re.compile(r"Could not override '([^']+)'")
_NO_SUCH_PAGE = re.compile(r"In '([^']+)': Could not (?:find|load) '([^']+)'")
OmegaConf.register_new_resolver("usage", lambda: "", replace=True)
ollama_models.register()
_composing = threading.RLock()  # Hydra composes in a state of the whole process


def compose(page: str, words: Sequence[str], own: Path | None = None) -> DictConfig:
    """The config that `page` and the words of a command line give. own: a folder as for `--config-dir`. Raises
    ConfigError where they do not compose."""
    more = [f"hydra.searchpath=['file://{own}']"] if own else []
    with _composing:
        program = GlobalHydra.instance().hydra  # of the job that composes
        GlobalHydra.instance().clear()
        try:
            with initialize_config_dir(str(conf_folder()), version_base="1.3"):
                return hydra_compose(page, [*with_backend(words), *more])
        except FAILURES as error:
            raise explained(error, page, words, own) from error
        finally:
            GlobalHydra.instance().hydra = program


def explained(
    error: Exception, page: str, words: Sequence[str], own: Path | None = None, *, sweep: bool = False
) -> ConfigError:
    """An error of Hydra's as mmerg's: all problems with the words, or else what Hydra says."""
    kind = COMMANDS[page]
    by_word = {word: list(problems_of(word, kind, own, sweep=sweep)) for word in words}
    problems = [problem for of_word in by_word.values() for problem in of_word]
    if problems:
        return error_of(problems if sweep else [*problems, *_others(by_word, page, own)])
    if isinstance(error, YAMLError):
        return ConfigError(f"a config is not valid YAML: {' '.join(str(error).split())}", where=CONFIGURATION)
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if absent := _NOT_ON_PAGE.match(lines[0]):
        what = f"no chosen config has the setting {absent[1]}"
        return ConfigError(what, where=COMMAND_LINE, hint=f"+{absent[1]}=… adds it")
    if isinstance(error, MissingConfigException) and (missing := _NO_SUCH_PAGE.match(lines[0])):
        group, _, name = missing[2].rpartition("/")
        options = sorted({*(error.options or ()), *pages_of(group, own)})  # Hydra knows those of plugins
        near = did_you_mean(name, options)
        hint = f"{near} one of {', '.join(options)}".strip()
        return ConfigError(f"{missing[1]} includes {missing[2]}, which is not there", where=CONFIGURATION, hint=hint)
    what = PASSWORD.sub("://***@", " ".join(f"{lines[0]} {error.__cause__ or ''}".split()))
    return ConfigError(what, where=COMMAND_LINE, hint="--help lists groups and settings")


def _others(by_word: Mapping[str, Sequence[Problem]], page: str, own: Path | None) -> Iterator[Problem]:
    """What is wrong with the settings that the words without a problem compose."""
    named = {problem.key for of_word in by_word.values() for problem in of_word}
    with suppress(ConfigError):
        config = compose(page, [word for word, of_word in by_word.items() if not of_word], own)
        problems = parsed(config, COMMANDS[page], [own] if own else [])[1]
        yield from (one for one in problems if one.key.partition(".")[0] not in named)
