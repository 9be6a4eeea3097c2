"""Configs as the commands compose them, in this process: `composed("dataset=folder", "dataset.root=/data")`."""

from __future__ import annotations

from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from mmerg.settings.compose import conf_folder, resolve
from mmerg.settings.shapes import register

BASE = ("dataset=folder", "dataset.root=/data")


def composed(*overrides: str, name: str = "config") -> DictConfig:
    """What `python -m mmerg.run OVERRIDES` composes (name "doctor": `python -m mmerg.doctor OVERRIDES`)."""
    register()
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        return compose(name, list(overrides))


def plain_of(*overrides: str) -> dict[str, Any]:
    """The same as plain values, resolved as for a run."""
    return resolve(composed(*overrides))
