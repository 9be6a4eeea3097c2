"""Configs as the commands compose them, in this process: `composed("dataset=folder", "dataset.root=/data")`."""

from copy import deepcopy
from functools import cache
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

from mmerg.settings.commands import COMMANDS
from mmerg.settings.compose import compose
from mmerg.settings.groups import groups, with_backend
from mmerg.settings.model import ProtocolSettings, RunSettings
from mmerg.settings.parse import parse

BASE = ("dataset=folder", "dataset.root=/data")


def composed(*words: str, name: str = "config") -> DictConfig:
    """The config of `python -m mmerg.run WORDS`, or of another command by its config's name. Settings need no `+`.

    Hydra composes each choice of options once. Other words are set afterwards, as Hydra does, in a tenth of the time.
    """
    known = groups()
    words = tuple(with_backend(words))
    options = [word for word in words if word.lstrip("+").partition("=")[0] in known]
    values = [word if word[0] in "+~" else f"++{word}" for word in words if word not in options]
    config = deepcopy(_composed(name, tuple(options)))
    ConfigLoaderImpl._apply_overrides_to_config(OverridesParser.create().parse_overrides(values), config)
    return config


@cache
def _composed(name: str, options: tuple[str, ...]) -> DictConfig:
    return compose(name, options)


def settings_of(*words: str) -> RunSettings:
    """The settings of a run with these words."""
    return parse(composed(*words), RunSettings)


def plain_of(*words: str) -> dict[str, Any]:
    """The settings of a run with these words, as a dict."""
    return settings_of(*words).plain()


def resolve(config: DictConfig) -> dict[str, Any]:
    """The settings of any command's config, as a dict."""
    page = "judge" if "judge" in config else "data" if "out" in config else "config" if "system" in config else "doctor"
    return parse(config, COMMANDS[page]).plain()


def protocol(targets: str = "last", emotions: str | list[str] = "all", **others: int | None) -> ProtocolSettings:
    return ProtocolSettings.model_validate({"targets": targets, "emotions": emotions, **others})
