"""Figures about published corpora that come with the package: a YAML file beside this module, by the corpus's name.

packaged("official.yaml")["meld"]["source"]
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any


@cache
def packaged(file: str) -> Mapping[str, Any]:
    """What the file says of each corpus; read once."""
    from omegaconf import OmegaConf

    figures = OmegaConf.to_container(OmegaConf.load(Path(__file__).with_name(file)))
    assert isinstance(figures, dict)
    return MappingProxyType({str(name): corpus for name, corpus in figures.items()})
