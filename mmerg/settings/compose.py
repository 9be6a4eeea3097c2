"""Composes the pages of a command with Hydra, once or as a sweep.

config = compose("config", checked(["dataset=meld", "dataset.root=~/MELD"], "config")).config
"""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra import main as hydra_main
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from mmerg.console.terminal import Swept
from mmerg.errors import ConfigError
from mmerg.settings.kinds import PASSWORD
from mmerg.settings.pages import conf_folder, no_page, ollama_host
from mmerg.settings.wrong import COMMAND_LINE, CONFIGURATION

_FAILURES = (HydraException, OmegaConfBaseException, YAMLError, ValueError)
_NO_SUCH_GROUP = re.compile(r"In '([^']+)/([^'/]+)': Could not override '([^']+)'")
_NO_SUCH_PAGE = re.compile(r"In '([^']+)': Could not (?:find|load) '(?:([^']*)/)?([^'/]+)'")


@dataclass(frozen=True)
class Composed:
    """A config, and which page was chosen in each group."""

    config: DictConfig
    choices: Mapping[str, str | None]


class OwnPages(SearchPathPlugin):
    """The user's own folder of pages (`--config-dir`): where it has a name of ours, its page wins."""

    folder: Path | None = None

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if self.folder:
            search_path.prepend("own", f"file://{self.folder.absolute()}")


def compose(page: str, overrides: Sequence[str], own: Path | None = None) -> Composed:
    """What Hydra composes of `page` and the overrides. Raises ConfigError where it does not compose."""
    use(own)
    try:
        with initialize_config_dir(str(conf_folder()), version_base="1.3"):
            config = hydra_compose(page, list(overrides), return_hydra_config=True)
    except _FAILURES as error:
        raise _not_composed(error, own) from error
    choices = config.hydra.runtime.choices
    OmegaConf.set_struct(config, False)
    del config["hydra"]
    return Composed(config, {str(group): page for group, page in choices.items() if not str(group).startswith("hydra")})


def sweep(job: Callable[[DictConfig], int], page: str, overrides: Sequence[str], own: Path | None) -> int:
    """Hydra's sweep: `job` once a member, here or in other processes; the worst exit code."""
    use(own)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # an error is raised, and told as ours are
    sys.argv[1:] = ["-m", *overrides]
    codes: list[int] = []

    @hydra_main(version_base="1.3", config_path=str(conf_folder()), config_name=page)
    def member(config: DictConfig) -> None:
        codes.append(job(config))

    try:
        member()
    except Swept as swept:
        return swept.worst
    except _FAILURES[:3] as error:
        raise _not_composed(error, own) from error
    return max(codes, default=0)


def use(own: Path | None) -> None:
    """Make our resolver and the user's own pages known to Hydra in this process, and the Python files among these to
    what pages name."""
    OwnPages.folder = own
    if own and str(own) not in sys.path:
        sys.path.append(str(own))  # behind all that is installed
    Plugins.instance().register(OwnPages)
    OmegaConf.register_new_resolver("ollama_host", ollama_host, replace=True)


def own_folder() -> Path | None:
    """The user's own folder of pages, also in a process that runs a member of a sweep."""
    if OwnPages.folder is None and HydraConfig.initialized():
        sources = HydraConfig.get().runtime.config_sources
        return next((Path(source.path) for source in sources if source.provider == "own"), None)
    return OwnPages.folder


def _not_composed(error: Exception, own: Path | None) -> ConfigError:
    """An error of Hydra's, in one line."""
    if isinstance(error, YAMLError):
        return ConfigError(f"a page is no YAML: {' '.join(str(error).split())}", where=CONFIGURATION)
    lines = [line for line in str(error).strip().splitlines() if "HYDRA_FULL_ERROR" not in line]
    what = " ".join(f"{lines[0] if lines else type(error).__name__} {error.__cause__ or ''}".split())
    if foreign := _NO_SUCH_GROUP.search(what):
        group, name, other = foreign.groups()
        what = f"{group}={name} chooses a page of {other}, which this command does not have"
        return ConfigError(what, where=COMMAND_LINE, hint=f"another {group}")
    if missing := _NO_SUCH_PAGE.search(what):
        page, group, name = missing.groups()
        file = next(iter(_files(own, page)), page)
        hint = no_page(group, name, own) if group else f"a page beside {page}"
        return ConfigError(f"{page} includes {group or '.'}/{name}, which is not there", where=str(file), hint=hint)
    return ConfigError(
        f"the configuration does not compose: {PASSWORD.sub('://***@', what)}",
        where=COMMAND_LINE,
        hint="--help lists groups and settings",
    )


def _files(own: Path | None, page: str) -> list[Path]:
    """The files of a page such as frames/paper, of which the first wins."""
    files = [folder / f"{page}.yaml" for folder in (own, conf_folder()) if folder]
    return [file for file in files if file.is_file()]


def notes(composed: Composed, own: Path | None, known: Collection[str]) -> Iterator[str]:
    """What a run says of its pages: those of the user's own in place of ours, and what a dataset's page sets beside
    the dataset, of what is `known` to the command."""
    for group, page in composed.choices.items():
        files = _files(own, f"{group}/{page}")
        if len(files) > 1:
            yield f"{group}={page} is {files[0]}, in place of mmerg's own"
        if group == "dataset" and files and "@package _global_" in files[0].read_text(encoding="utf-8"):
            sets = OmegaConf.load(files[0])
            kept = [
                f"{key}={value}"
                for key, value in leaves(OmegaConf.to_container(sets))
                if key.partition(".")[0] in set(known) - {"dataset"}
                and OmegaConf.select(composed.config, key) == OmegaConf.select(sets, key)
            ]
            if kept:
                yield f"dataset={page} sets {', '.join(kept)}"


def leaves(node: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested settings, each by its dotted key."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, f"{above}.{key}" if above else str(key))
    else:
        yield above, node
