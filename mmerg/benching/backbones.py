"""What a name on the command line stands for: a page of conf/backbone, or a model by the name that Ollama has for it;
and which of these can be run now.

    asked("gemma3:12b").overrides     # ("backend=ollama", "backbone=gemma3-12b")
    asked("smollm2-135m").overrides   # ("backend=embedded", "backbone=smollm2-135m")
    asked("gemma3:4b").generic        # True: no page is of it

A model that no page is of runs on the settings of BASE, which suits most models that see, with the context cut to what
the model has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from omegaconf import DictConfig

from mmerg.backends.ollama_host import OllamaHost, full_name, names
from mmerg.backends.protocol import Engine
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.experiment.wiring import hosts_of
from mmerg.settings.compose import compose
from mmerg.settings.kinds import Plain
from mmerg.settings.model import RunSettings
from mmerg.settings.pages import conf_folder
from mmerg.settings.parse import checked, parse
from mmerg.storage.record import Record

PAPER = ("qwen3.5-27b", "qwen3.5-9b", "qwen3-vl-32b", "qwen2.5vl-7b", "gemma3-12b", "llava-13b")
EMBEDDED = "smollm2-135m"  # runs without a server
BASE = "qwen2.5vl-7b"


class Skipped(Record):
    """A backbone that was not run, or not with all its seeds, why, and what would change that."""

    name: str
    why: str
    next: str = ""

    @property
    def told(self) -> str:
        return f"left out: {self.name}: {self.why}" + f"; {self.next}" * bool(self.next)


@dataclass(frozen=True)
class Backbone:
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


def asked(name: str, own: Path | None = None) -> Backbone:
    """What `name` stands for, also by a page in `own`, the user's folder. Raises ConfigError where it can be neither a
    page nor a model."""
    pages = _pages(own)
    if name in pages:
        backend = "embedded" if pages[name].get("gguf") else "ollama"
        return Backbone(name, str(pages[name].get("model", name)), (f"backend={backend}", f"backbone={name}"))
    page = next((page for page, node in pages.items() if full_name(str(node.get("model", page))) in names(name)), None)
    if page:
        return Backbone(page, str(pages[page].get("model", page)), ("backend=ollama", f"backbone={page}"))
    plain = re.sub(r"[^A-Za-z0-9.+_]+", "-", name).strip("-.")
    if not plain or not re.fullmatch(r"[A-Za-z0-9][\w./:@+-]*", name, re.ASCII):
        hint = f"a page of conf/backbone ({', '.join(pages)}), or a model's name at Ollama: qwen2.5vl:7b"
        raise ConfigError(f"{name!r} is no backbone", where="--backbones", hint=hint)
    of_base = (f"backbone={BASE}", f"backbone.name={plain}", f"backbone.model='{name}'")
    return Backbone(name, name, ("backend=ollama", *of_base), generic=True)


@cache
def _pages(own: Path | None) -> dict[str, Plain]:
    import yaml

    folders = [conf_folder(), *([own] if own else [])]
    files = [file for folder in folders for file in sorted((folder / "backbone").glob("*.yaml"))]
    try:
        return {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) or {} for file in files}
    except yaml.YAMLError as error:
        raise ConfigError(f"a page is no YAML: {' '.join(str(error).split())}", where=str(own)) from error


@dataclass(frozen=True)
class Subset:
    """What all backbones of a bench run: `n` samples of a dataset, drawn once. given: the settings of the command line,
    which come last and win; own: the user's folder of pages."""

    dataset: str
    n: int
    given: Sequence[str] = ()
    own: Path | None = None

    def without_hosts(self) -> Subset:
        """For a backbone that runs in this process, where others need the hosts."""
        given = [setting for setting in self.given if setting.lstrip("+").partition("=")[0] != "backend.hosts"]
        return replace(self, given=given)

    def composed(self, backbone: Backbone, *more: str) -> DictConfig:
        """The config of a backbone's run. Raises ConfigError where it does not compose."""
        subset = (f"protocol.sample={self.n}", "protocol.seed=0", "limit=null")
        overrides = [f"dataset={self.dataset}", *backbone.overrides, *subset, *more, *self.given]
        return compose("config", checked(overrides, "config", self.own), self.own).config

    def settings(self, backbone: Backbone, *more: str) -> RunSettings:
        """Of a backbone's run. Raises ConfigError for what no run takes."""
        return parse(self.composed(backbone, *more), RunSettings)


def available(subset: Subset, wanted: Sequence[Backbone]) -> tuple[list[tuple[Backbone, RunSettings]], list[Skipped]]:
    """The backbones that can be run now, with their settings, and the others: Ollama hosts are asked what they hold,
    the embedded backend needs no asking. Raises ConfigError for settings that no run takes."""
    ready: list[tuple[Backbone, RunSettings]] = []
    skipped: list[Skipped] = []
    found = [(backbone, subset.settings(backbone)) for backbone in wanted]
    asking = any(settings.backend.name == "ollama" for _, settings in found)
    for backbone, settings in found:
        if settings.backend.name != "ollama":
            own = subset.without_hosts().settings(backbone) if asking else settings
            hosts_of(own)
            ready.append((backbone, own))
            continue
        engine = _look(backbone.name, settings.backbone.model, hosts_of(settings))
        if isinstance(engine, Skipped):
            close = get_close_matches(backbone.name, _pages(subset.own), 1, 0.8)
            may_be_a_page = backbone.generic and ":" not in backbone.name  # one with a tag is a model's name
            near = f"; or did you mean {close[0]}?" if close and may_be_a_page else ""
            skipped.append(engine.model_copy(update={"next": engine.next + near}))
            continue
        small = backbone.generic and 0 < engine.context_length < (settings.backbone.load.num_ctx or 0)
        more = [f"backbone.load.num_ctx={engine.context_length}"] if small else []
        ready.append((backbone, subset.settings(backbone, *more)))
    return ready, skipped


def _look(name: str, model: str, hosts: Sequence[str]) -> Engine | Skipped:
    """The engine of the first host that holds `model`, or why there is none."""
    wrong: list[CallError] = []
    for host in hosts:
        try:
            with OllamaHost(host) as server:
                return server.describe(model, {})
        except CallError as error:
            wrong.append(error)
    if any(error.failure is Failure.MODEL_NOT_FOUND for error in wrong):
        return Skipped(name=name, why=f"{model} is not pulled", next=f"ollama pull {model}")
    why = wrong[0].what if wrong else "no host is named"
    return Skipped(name=name, why=why, next=f"ollama serve, then ollama pull {model}")
