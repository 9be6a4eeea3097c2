"""Composes the pages of a command with Hydra, once or as a sweep.

config = compose("config", checked(["dataset=meld", "dataset.root=~/MELD"], "config")).config
"""

import pickle
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from mmerg.errors import ConfigError
from mmerg.settings.kinds import PASSWORD
from mmerg.settings.overrides import chooses_page, read_word, rows_of
from mmerg.settings.pages import conf_folder, no_page, ollama_host
from mmerg.settings.problems import COMMAND_LINE, CONFIGURATION

_FAILURES = (HydraException, OmegaConfBaseException, YAMLError, ValueError)
_NO_SUCH_GROUP = re.compile(r"In '([^']+)/([^'/]+)': Could not override '([^']+)'")
_NO_SUCH_PAGE = re.compile(r"In '([^']+)': Could not (?:find|load) '(?:([^']*)/)?([^'/]+)'")


@dataclass(frozen=True)
class Composed:
    """A config; which page was chosen in each group; what an experiment's page sweeps over, by its key."""

    config: DictConfig
    choices: Mapping[str, str | None]
    swept: Mapping[str, str]


class OwnPages(SearchPathPlugin):
    """The user's own folder of pages (`--config-dir`). Its page wins over mmerg's page of the same name."""

    folder: Path | None = None

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if self.folder:
            search_path.prepend("own", f"file://{self.folder.absolute()}")


def compose(page: str, words: Sequence[str], own: Path | None = None) -> Composed:
    """The config that `page` and the words of a command line give. Raises ConfigError where they do not compose."""
    use(own)
    try:
        read = [read_word(word) for word in words]
        chosen = tuple(word.input_line or "" for word in read if chooses_page(word, own))
        composed: Composed = pickle.loads(_pages(page, chosen, own))  # is copied ten times as fast as a config
        for word in read:
            if not chooses_page(word, own):
                _set(composed.config, word)
    except _FAILURES as error:
        raise _not_composed(error, own) from error
    return composed


@cache
def _pages(page: str, chosen: tuple[str, ...], _own: Path | None) -> bytes:
    """The pages as Hydra composes them, before values are set, as a pickle."""
    added = [f"+{word}" if word.startswith("experiment=") else word for word in chosen]
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        config = hydra_compose(page, added, return_hydra_config=True)
    hydra = config.hydra
    choices = {str(group): name for group, name in hydra.runtime.choices.items() if not str(group).startswith("hydra")}
    OmegaConf.set_struct(config, False)
    del config["hydra"]
    return pickle.dumps(Composed(config, choices, dict(hydra.sweeper.params or {})))


def _set(config: DictConfig, word: Override) -> None:
    """Sets what the word says, which may be what no page has, or takes it away."""
    if not word.is_delete():
        OmegaConf.update(config, word.key_or_group, word.value(), merge=True, force_add=True)
        return
    above, _, last = word.key_or_group.rpartition(".")
    node = OmegaConf.select(config, above) if above else config
    if isinstance(node, DictConfig):
        node.pop(last, None)


def rows(page: str, words: Sequence[str], own: Path | None) -> list[list[str]]:
    """The command lines of a sweep."""
    whole = [word for word in words if not read_word(word).is_sweep_override()]
    return rows_of(words, dict(compose(page, whole, own).swept))


def use(own: Path | None) -> None:
    """Makes the resolver `ollama_host` and the user's own pages known to Hydra in this process. Pages may name
    classes in the Python files of that folder."""
    OwnPages.folder = own
    if own and str(own) not in sys.path:
        sys.path.append(str(own))  # behind all that is installed
    Plugins.instance().register(OwnPages)
    OmegaConf.register_new_resolver("ollama_host", ollama_host, replace=True)


def own_folder() -> Path | None:
    """The user's own folder of pages."""
    return OwnPages.folder


def _not_composed(error: Exception, own: Path | None) -> ConfigError:
    """What Hydra's error says, in one line."""
    if isinstance(error, YAMLError):
        return ConfigError(f"a page is no YAML: {' '.join(str(error).split())}", where=CONFIGURATION)
    lines = str(error).strip().splitlines() or [type(error).__name__]
    what = " ".join(f"{lines[0]} {error.__cause__ or ''}".split())
    if foreign := _NO_SUCH_GROUP.search(what):
        group, name, other = foreign.groups()
        what = f"{group}={name} chooses a page of {other}, which this command does not have"
        return ConfigError(what, where=COMMAND_LINE, hint=f"another {group}")
    if missing := _NO_SUCH_PAGE.search(what):
        page, group, name = missing.groups()
        hint = no_page(group, name, own) if group else f"a page beside {page}"
        where = str(next(iter(_files(own, page)), page))
        return ConfigError(f"{page} includes {group or '.'}/{name}, which is not there", where=where, hint=hint)
    what = f"the configuration does not compose: {PASSWORD.sub('://***@', what)}"
    return ConfigError(what, where=COMMAND_LINE, hint="--help lists groups and settings")


def _files(own: Path | None, page: str) -> list[Path]:
    """The files of a page such as frames/paper, of which the first wins."""
    files = [folder / f"{page}.yaml" for folder in (own, conf_folder()) if folder]
    return [file for file in files if file.is_file()]


def notes(composed: Composed, own: Path | None, known: Collection[str]) -> Iterator[str]:
    """What a run says of its pages: which of the user's are taken in place of mmerg's, and what else than the dataset a
    dataset's page sets. known: the settings of the command."""
    for group, page in composed.choices.items():
        files = _files(own, f"{group}/{page}")
        if len(files) > 1:
            yield f"{group}={page} is {files[0]}, in place of mmerg's own"
        if group == "dataset" and files and "@package _global_" in files[0].read_text(encoding="utf-8"):
            sets = OmegaConf.load(files[0])
            others = {key for key in known if key != "dataset"}
            given = {key: value for key, value in leaves(sets) if key.partition(".")[0] in others}
            chosen = dict(leaves(composed.config))
            kept = [f"{key}={value}" for key, value in given.items() if chosen.get(key) == value]
            if kept:
                yield f"dataset={page} sets {', '.join(kept)}"


def leaves(node: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested settings, each by its dotted key; references are not followed."""
    if OmegaConf.is_config(node):
        node = OmegaConf.to_container(node)
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, f"{above}.{key}" if above else str(key))
    else:
        yield above, node
