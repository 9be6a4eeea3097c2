"""Which backbone a name stands for, and which of them can be run now.

    find_backbone("gemma3:12b").overrides     # ("backend=ollama", "backbone=gemma3-12b")
    find_backbone("smollm2-135m").overrides   # ("backend=embedded", "backbone=smollm2-135m")
    find_backbone("gemma3:4b").generic        # True: it has no page of its own

A name is a page of conf/backbone, or a model by the name that Ollama has for it. A model without a page runs with the
settings of BASE, and with no more context than it has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from mmerg.backends.ollama_host import OllamaHost, full_name, names
from mmerg.backends.protocol import Engine
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.experiment.wiring import hosts_of
from mmerg.settings.compose import compose
from mmerg.settings.kinds import Plain
from mmerg.settings.model import RunSettings
from mmerg.settings.pages import conf_folder
from mmerg.settings.parse import parse

PAPER = ("qwen3.5-27b", "qwen3.5-9b", "qwen3-vl-32b", "qwen2.5vl-7b", "gemma3-12b", "llava-13b")
EMBEDDED = "smollm2-135m"  # runs without a server
BASE = "qwen2.5vl-7b"


@dataclass(frozen=True)
class Backbone:
    """A backbone to run. name: its page, or its model where it has none (generic). overrides: what composes it."""

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


@dataclass(frozen=True)
class Skipped:
    """A backbone that did not run, or not with all its seeds; why, and what to do."""

    name: str
    why: str
    hint: str = ""

    def __str__(self) -> str:
        return f"left out: {self.name}: {self.why}" + f"; {self.hint}" * bool(self.hint)


@dataclass(frozen=True)
class Subset:
    """The same `n` samples of a dataset for every backbone. given: settings of the command line, which win. own: the
    user's folder of pages."""

    dataset: str
    n: int
    given: Sequence[str] = ()
    own: Path | None = None

    def settings(self, backbone: Backbone, *more: str) -> RunSettings:
        """The settings of a backbone's run; hosts are left out for a model in this process. Raises ConfigError for
        settings that no run takes."""
        settings = self._composed(backbone, *more, *self.given)
        if settings.backend.name == "embedded":
            return self._composed(backbone, *(one for one in self.given if "backend.hosts=" not in one))
        return settings

    def _composed(self, backbone: Backbone, *more: str) -> RunSettings:
        subset = (f"protocol.sample={self.n}", "protocol.seed=0", "limit=null")
        overrides = [f"dataset={self.dataset}", *backbone.overrides, *subset, *more]
        return parse(compose("config", overrides, self.own), RunSettings, [self.own] if self.own else [])


def find_backbone(name: str, own: Path | None = None) -> Backbone:
    """The backbone of that name; own: the user's folder of pages. Raises ConfigError where the name can be neither a
    page nor a model."""
    pages = _pages(own)
    if name in pages:
        backend = "embedded" if pages[name].get("gguf") else "ollama"
        return Backbone(name, str(pages[name].get("model", name)), (f"backend={backend}", f"backbone={name}"))
    for page, node in pages.items():
        model = str(node.get("model", page))
        if full_name(model) in names(name):
            return Backbone(page, model, ("backend=ollama", f"backbone={page}"))
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


def available(subset: Subset, wanted: Sequence[Backbone]) -> tuple[list[tuple[Backbone, RunSettings]], list[Skipped]]:
    """The backbones that can be run now, with their settings, and the others: Ollama hosts are asked what they hold.
    Raises ConfigError for settings that no run takes, before a host is asked."""
    ready: list[tuple[Backbone, RunSettings]] = []
    skipped: list[Skipped] = []
    for backbone, settings in [(backbone, subset.settings(backbone)) for backbone in wanted]:
        hosts, model = hosts_of(settings), settings.backbone.model
        if settings.backend.name != "ollama":
            ready.append((backbone, settings))
            continue
        engine = _engine(model, hosts)
        if isinstance(engine, CallError):
            missing = engine.failure is Failure.MODEL_NOT_FOUND
            pull = f"ollama pull {model}"
            pages = [] if not backbone.generic or ":" in model else get_close_matches(model, _pages(subset.own), 1, 0.8)
            near = f"; or did you mean {pages[0]}?" if pages else ""
            why, hint = (f"{model} is not pulled", pull) if missing else (engine.what, f"ollama serve, then {pull}")
            skipped.append(Skipped(backbone.name, why, hint + near))
        elif backbone.generic and 0 < engine.context_length < (settings.backbone.load.num_ctx or 0):
            own_context = f"backbone.load.num_ctx={engine.context_length}"
            ready.append((backbone, subset.settings(backbone, own_context)))
        else:
            ready.append((backbone, settings))
    return ready, skipped


def _engine(model: str, hosts: Sequence[str]) -> Engine | CallError:
    """The engine of the first host that holds `model`, or why there is none."""
    wrong: list[CallError] = []
    for host in hosts:
        try:
            return OllamaHost(host).describe(model, {})
        except CallError as error:
            wrong.append(error)
    return next((error for error in wrong if error.failure is Failure.MODEL_NOT_FOUND), wrong[0])
