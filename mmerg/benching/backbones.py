"""What a name on the command line stands for: a page of conf/backbone, or a model by the name that Ollama has for it.

    asked("gemma3:12b").overrides     # ("backend=ollama", "backbone=gemma3-12b")
    asked("smollm2-135m").overrides   # ("backend=embedded", "backbone=smollm2-135m")
    asked("gemma3:4b").generic        # True: no page is of it

A model that no page is of runs on the settings of BASE, which suits most models that see, with the context cut to what
the model has. Reads the pages of conf/backbone; asks no server.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from omegaconf import DictConfig

from mmerg.backends.ollama_host import full_name, names
from mmerg.errors import ConfigError
from mmerg.settings.compose import compose
from mmerg.settings.kinds import Plain
from mmerg.settings.pages import conf_folder
from mmerg.settings.parse import checked

PAPER = ("qwen3.5-27b", "qwen3.5-9b", "qwen3-vl-32b", "qwen2.5vl-7b", "gemma3-12b", "llava-13b")
EMBEDDED = "smollm2-135m"  # runs without a server
BASE = "qwen2.5vl-7b"


@dataclass(frozen=True)
class Asked:
    """A backbone to run. name: its page, or the model's own name where no page is of it, so that two are never one.
    overrides: what composes it. generic: no page is of it, settings are those of BASE."""

    name: str
    model: str
    overrides: tuple[str, ...]
    generic: bool = False

    @property
    def note(self) -> str:
        """What a reader of its figures must know."""
        if self.name == EMBEDDED:
            return "it shows the machinery, not the quality"
        return f"there is no page of it: it runs as {BASE} is set" if self.generic else ""


def asked(name: str, own: Path | None = None) -> Asked:
    """What `name` stands for, also by a page in `own`, the user's folder. Raises ConfigError where it can be neither a
    page nor a model."""
    pages = _pages(own)
    if name in pages:
        backend = "embedded" if pages[name].get("gguf") else "ollama"
        return Asked(name, str(pages[name].get("model", name)), (f"backend={backend}", f"backbone={name}"))
    page = next((page for page, node in pages.items() if full_name(str(node.get("model", page))) in names(name)), None)
    if page:
        return Asked(page, str(pages[page].get("model", page)), ("backend=ollama", f"backbone={page}"))
    plain = re.sub(r"[^A-Za-z0-9.+_]+", "-", name).strip("-.")
    if not plain or not re.fullmatch(r"[A-Za-z0-9][\w./:@+-]*", name, re.ASCII):
        hint = f"a page of conf/backbone ({', '.join(pages)}), or a model's name at Ollama: qwen2.5vl:7b"
        raise ConfigError(f"{name!r} is no backbone", where="--backbones", hint=hint)
    of_base = (f"backbone={BASE}", f"backbone.name={plain}", f"backbone.model='{name}'")
    return Asked(name, name, ("backend=ollama", *of_base), generic=True)


def near(backbone: Asked, own: Path | None = None) -> str:
    """A question to add to advice where a name is close to a page's. One with a tag is a model's, not a page's."""
    may_be_a_page = backbone.generic and ":" not in backbone.name
    close = get_close_matches(backbone.name, _pages(own), 1, 0.8) if may_be_a_page else []
    return f"; or did you mean {close[0]}?" if close else ""


@cache
def _pages(own: Path | None) -> dict[str, Plain]:
    import yaml

    folders = [conf_folder(), *([own] if own else [])]
    files = [file for folder in folders for file in sorted((folder / "backbone").glob("*.yaml"))]
    try:
        return {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) or {} for file in files}
    except yaml.YAMLError as error:
        raise ConfigError(f"a page is no YAML: {' '.join(str(error).split())}", where=str(own)) from error


def without_hosts(given: Sequence[str]) -> list[str]:
    """The settings of the command line for a backbone that runs in this process, where others need the hosts."""
    return [setting for setting in given if setting.lstrip("+").partition("=")[0] != "backend.hosts"]


def composed(
    dataset: str, n: int, backbone: Asked, given: Sequence[str], more: Sequence[str] = (), own: Path | None = None
) -> DictConfig:
    """The config of a run on the fixed subset of `n` samples. `given`, the command line's, come last and win.

    Raises ConfigError where it does not compose.
    """
    subset = (f"protocol.sample={n}", "protocol.seed=0", "limit=null")
    overrides = [f"dataset={dataset}", *backbone.overrides, *subset, *more, *given]
    return compose("config", checked(overrides, "config", own), own).config
