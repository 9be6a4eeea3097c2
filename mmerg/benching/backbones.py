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
from typing import Any

from omegaconf import DictConfig

from mmerg.backends.ollama_host import full_name, names
from mmerg.errors import ConfigError
from mmerg.settings.check import checked
from mmerg.settings.compose import compose
from mmerg.settings.pages import conf_folder

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


def asked(name: str) -> Asked:
    """What `name` stands for. Raises ConfigError where it can be neither a page nor a model."""
    pages = _pages()
    if name in pages:
        backend = "embedded" if pages[name].get("gguf") else "ollama"
        return Asked(name, str(pages[name]["model"]), (f"backend={backend}", f"backbone={name}"))
    page = next((page for page, node in pages.items() if full_name(str(node["model"])) in names(name)), None)
    if page:
        return Asked(page, str(pages[page]["model"]), ("backend=ollama", f"backbone={page}"))
    plain = re.sub(r"[^A-Za-z0-9.+_]+", "-", name).strip("-.")
    if not plain or not re.fullmatch(r"[A-Za-z0-9][\w./:@+-]*", name, re.ASCII):
        hint = f"a page of conf/backbone ({', '.join(pages)}), or a model's name at Ollama: qwen2.5vl:7b"
        raise ConfigError(f"{name!r} is no backbone", where="--backbones", hint=hint)
    own = (f"backbone={BASE}", f"backbone.name={plain}", f"backbone.model='{name}'")
    return Asked(name, name, ("backend=ollama", *own), generic=True)


def near(backbone: Asked) -> str:
    """A question to add to advice where a name is close to a page's. One with a tag is a model's, not a page's."""
    close = get_close_matches(backbone.name, _pages(), 1, 0.8) if backbone.generic and ":" not in backbone.name else []
    return f"; or did you mean {close[0]}?" if close else ""


@cache
def _pages() -> dict[str, dict[str, Any]]:
    import yaml

    files = sorted((conf_folder() / "backbone").glob("*.yaml"))
    return {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}


def without_hosts(given: Sequence[str]) -> list[str]:
    """The settings of the command line for a backbone that runs in this process, where others need the hosts."""
    return [setting for setting in given if setting.lstrip("+").partition("=")[0] != "backend.hosts"]


def composed(dataset: str, n: int, backbone: Asked, given: Sequence[str], more: Sequence[str] = ()) -> DictConfig:
    """The config of a run on the fixed subset of `n` samples. `given`, the command line's, come last and win.

    Raises ConfigError where it does not compose.
    """
    subset = (f"protocol.sample={n}", "protocol.seed=0", "limit=null")
    overrides = [f"dataset={dataset}", *backbone.overrides, *subset, *more, *given]
    return compose("config", checked(overrides, "config")).config
