"""Composes a command's config in code, as its command line does: `compose("config", ["dataset=demo"])`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from mmerg.settings import ollama_models
from mmerg.settings.explain import explained
from mmerg.settings.pages import conf_folder, ollama_host, with_backend

FAILURES = (HydraException, OmegaConfBaseException, YAMLError)  # what Hydra raises where a config does not compose
OmegaConf.register_new_resolver("ollama_host", ollama_host, replace=True)
OmegaConf.register_new_resolver("usage", lambda: "", replace=True)
ollama_models.register()


def compose(page: str, words: Sequence[str], own: Path | None = None) -> DictConfig:
    """The config that `page` and the words of a command line give. own: a folder as for `--config-dir`. Raises
    ConfigError where they do not compose."""
    more = [f"hydra.searchpath=['file://{own}']"] if own else []
    program = GlobalHydra.instance().hydra  # of the job that composes
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf_folder()), version_base="1.3"):
            return hydra_compose(page, [*with_backend(words), *more])
    except FAILURES as error:
        raise explained(error, page, words, own) from error
    finally:
        GlobalHydra.instance().hydra = program


def leaves(node: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested settings, each by its dotted key; references are not followed."""
    if OmegaConf.is_config(node):
        node = OmegaConf.to_container(node)
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, f"{above}.{key}" if above else str(key))
    else:
        yield above, node
