"""Configs as the commands compose them, in this process: `composed("dataset=folder", "dataset.root=/data")`."""

from copy import deepcopy
from functools import cache
from typing import Any

from omegaconf import DictConfig

from mmerg.settings.commands import COMMANDS
from mmerg.settings.compose import compose
from mmerg.settings.groups import groups
from mmerg.settings.model import ProtocolSettings, RunSettings
from mmerg.settings.parse import parse

BASE = ("dataset=folder", "dataset.root=/data")


def composed(*words: str, name: str = "config") -> DictConfig:
    """What `python -m mmerg.run WORDS` composes (name "doctor": `python -m mmerg.doctor WORDS`). A setting may be one
    that no page has, which a command line adds with `+`."""
    groups_of_all = groups()
    added = (word if word[0] in "+~" or word.split("=")[0] in groups_of_all else f"++{word}" for word in words)
    return deepcopy(_composed(name, tuple(added)))


@cache
def _composed(name: str, words: tuple[str, ...]) -> DictConfig:
    return compose(name, words)


def settings_of(*words: str) -> RunSettings:
    """The same as typed settings, as a run gets them."""
    return parse(composed(*words), RunSettings)


def plain_of(*words: str) -> dict[str, Any]:
    """The same as plain values."""
    return settings_of(*words).plain()


def resolve(config: DictConfig) -> dict[str, Any]:
    """The plain values of a config of any command."""
    page = "judge" if "judge" in config else "data" if "out" in config else "config" if "system" in config else "doctor"
    return parse(config, COMMANDS[page]).plain()


def protocol(targets: str = "last", emotions: str | list[str] = "all", **others: int | None) -> ProtocolSettings:
    """Which turns are targets: the final ones, and all of these, where nothing else is said."""
    return ProtocolSettings.model_validate({"targets": targets, "emotions": emotions, **others})
