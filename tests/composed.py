"""Configs as the commands compose them, in this process: `composed("dataset=folder", "dataset.root=/data")`.

Hydra reads the pages once for each choice of them; what is set beyond them is put on a copy, as Hydra itself does last.
"""

import pickle
from functools import cache
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mmerg.settings.compose import compose, use
from mmerg.settings.model import COMMANDS, ProtocolSettings, RunSettings
from mmerg.settings.parse import checked, parse

BASE = ("dataset=folder", "dataset.root=/data")


def composed(*overrides: str, name: str = "config") -> DictConfig:
    """What `python -m mmerg.run OVERRIDES` composes (name "doctor": `python -m mmerg.doctor OVERRIDES`)."""
    given = checked(overrides, name)
    values = [one for one in given if one.startswith("++")]
    config: DictConfig = pickle.loads(_pages(name, tuple(one for one in given if one not in values)))
    use(None)
    try:
        for one in values:
            read = OverridesParser.create().parse_override(one)
            OmegaConf.update(config, read.key_or_group, read.value(), merge=True, force_add=True)
    except OmegaConfBaseException:
        return compose(name, given).config  # which tells it in our words
    return config


@cache
def _pages(name: str, chosen: tuple[str, ...]) -> bytes:
    """A config before values are set; a pickle is copied ten times as fast as the config."""
    return pickle.dumps(compose(name, chosen).config)


def settings_of(*overrides: str) -> RunSettings:
    """The same as typed settings, as a run gets them."""
    return parse(composed(*overrides), RunSettings)


def plain_of(*overrides: str) -> dict[str, Any]:
    """The same as plain values."""
    return settings_of(*overrides).plain()


def resolve(config: DictConfig) -> dict[str, Any]:
    """The plain values of a config of any command."""
    page = (
        "judge" if "judge" in config else "data" if "clips" in config else "config" if "system" in config else "doctor"
    )
    return parse(config, COMMANDS[page]).plain()


def protocol(targets: str = "last", emotions: str | list[str] = "all", **others: int | None) -> ProtocolSettings:
    """Which turns are targets: the final ones, and all of these, where nothing else is said."""
    return ProtocolSettings.model_validate({"targets": targets, "emotions": emotions, **others})
