"""Configs as the commands compose them, in this process: `composed("dataset=folder", "dataset.root=/data")`."""

from __future__ import annotations

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from mmerg.config import conf_folder, register


def composed(*overrides: str, name: str = "config") -> DictConfig:
    """What `python -m mmerg.run OVERRIDES` composes (name "doctor": `python -m mmerg.doctor OVERRIDES`)."""
    register()
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        return compose(name, list(overrides))
