"""The typed shape of `conf/`: what can be set, and which of it decides results.

Hydra composes `conf/config.yaml` onto these classes and refuses unknown keys and wrong types. Registered by `register`,
called by entry points; importing does nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_type_hints

import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mmerg.errors import ConfigError
from mmerg.settings import at
from mmerg.sweep import Swept


@dataclass
class DatasetConfig:
    """A corpus reader (`_target_` with its arguments) and the settings that its YAML passes on. memory: the corpus that
    exemplars come from, never the one that is evaluated, as a node with a `reader` of its own; null: there is none."""

    name: str = MISSING
    root: str | None = None
    split: str = "test"
    sessions: list[int] | None = None  # in place of a split, where a corpus comes in sessions
    variant: str | None = None  # of a corpus that is published in several
    label_set: str | None = None  # names one of label_sets, which then is `labels`
    label_sets: dict[str, list[str]] = field(default_factory=dict)
    labels: list[str] = MISSING
    reader: dict[str, Any] = MISSING
    memory: dict[str, Any] | None = None


@dataclass
class SystemConfig:
    """See `conf/system/merg.yaml`, which explains each key."""

    name: str = MISSING
    prompts: str = MISSING
    given: list[str] = field(default_factory=list)
    max_iterations: int = 2
    max_repairs: int = 2
    without: list[str] = field(default_factory=list)
    organization: str = "cascaded"
    final_selection: str = "lexicographic"
    stages: dict[str, Any] = MISSING
    auditor: dict[str, Any] | None = None
    vocabulary: dict[str, list[str]] = MISSING
    result: dict[str, str] = MISSING


@dataclass
class BackboneConfig:
    """A model: Ollama's name for it, or a GGUF file (with mmproj for vision) for the embedded backend.

    workers, threads: how many copies of the model the embedded backend runs, each under a name of its own, and the
    threads of each (0: all cores but one). load: options with which the model is loaded, frozen for a run. max_images:
    in one call. image_side: pixels, long side. concurrency: calls that one host takes at once. sampling: see
    `mmerg.backends.protocol.Sampling`.
    """

    name: str = MISSING
    model: str = MISSING
    gguf: str = ""
    mmproj: str = ""
    workers: list[str] = field(default_factory=lambda: ["in process"])
    threads: int = 0
    load: dict[str, Any] = field(default_factory=dict)
    think: bool = False
    max_images: int = 8
    image_side: int = 448
    concurrency: int = 1
    sampling: dict[str, Any] = field(default_factory=dict)
    note: str = ""  # printed after the replies


@dataclass
class BackendConfig:
    """Where calls go: an adapter (`_target_`), made once for each host, and how failed calls are tried again."""

    name: str = MISSING
    hosts: list[str] = MISSING
    adapter: dict[str, Any] = MISSING
    attempts: int = 3
    revive_after: float = 60.0


@dataclass
class FramesConfig:
    """Keyframes: which agents see them (seen_by: paper, all, none), and how they are taken from the last turns."""

    seen_by: str = "paper"
    last_turns: int = 2
    max_frames: int = 8
    per_clip: int = 4
    method: str = "representative"
    long_side: int = 448
    jpeg_quality: int = 85
    max_seconds: float = 60.0


@dataclass
class ProtocolConfig:
    """Which turns are targets: see `mmerg.corpora.protocols.Protocol`."""

    name: str = MISSING
    targets: str = "last"
    emotions: Any = "all"
    max_per_dialogue: int | None = None
    sample: int | None = None
    seed: int = 0
    history: int | None = None


@dataclass
class KeyConfig:
    """What text is embedded: see `mmerg.memory.entries.Key`."""

    text: str = "history"
    turns: int = 3
    emotion: bool = False


@dataclass
class MemoryConfig:
    """The retrieval memory that supplies M: see `conf/memory/minilm.yaml`, which explains each key."""

    name: str = MISSING
    top_k: int = 1
    key: KeyConfig = field(default_factory=KeyConfig)
    emotion: str = "any"
    min_similarity: float | None = None
    exclude_same_script: bool = True
    exclude_same_scene: bool = True
    exclude_same_reply: bool = True
    exclude_similarity: float | None = 0.98
    embedder: dict[str, Any] = field(default_factory=dict)


@dataclass
class Config:
    """The whole configuration of a run."""

    dataset: DatasetConfig = MISSING
    protocol: ProtocolConfig = MISSING
    system: SystemConfig = MISSING
    backbone: BackboneConfig = MISSING
    backend: BackendConfig = MISSING
    frames: FramesConfig = MISSING
    memory: MemoryConfig = MISSING
    seed: int = 0
    limit: int | None = None
    ids: list[str] | None = None
    only_failed: bool = False
    cache: str = "on"
    cache_dir: str = MISSING
    runs: str = "runs"
    repeats: int = 1
    rows: dict[str, Any] = field(default_factory=dict)  # an experiment's settings by row: conf/experiment/
    row: str | None = None


@dataclass
class DataConfig(Config):
    """A run that is not started: its corpus is checked, and its frames are drawn. See `conf/data.yaml`."""

    clips: str = "open"
    sheet: int = 0
    out: str | None = None


@dataclass
class DoctorConfig:
    """A backbone and where it is served."""

    backbone: BackboneConfig = MISSING
    backend: BackendConfig = MISSING


@dataclass
class JudgeConfig:
    """How replies are judged: see `conf/judge/likert.yaml`, which explains each key."""

    name: str = MISSING
    prompts: str = MISSING
    replies: int = MISSING
    repeats: int = 1
    temperature: float = 0.0
    sample: int | None = None
    max_repairs: int = 2
    aspects: dict[str, Any] = MISSING


@dataclass
class JudgeCommandConfig:
    """How finished runs are judged, by which backbone, and where it is served."""

    judge: JudgeConfig = MISSING
    backbone: BackboneConfig = MISSING
    backend: BackendConfig = MISSING
    seed: int = 0
    limit: int | None = None
    only_failed: bool = False
    cache: str = "on"
    cache_dir: str = MISSING
    runs: str = "runs"


# Settings that are paths: on the command line they may hold what Hydra's grammar would stumble over.
PATHS = (
    *("dataset.root", "dataset.memory.root", "memory.embedder.folder"),
    *("backbone.gguf", "backbone.mmproj", "runs", "cache_dir", "out"),
)


def register() -> None:
    """Make the schemas known to Hydra, by the names that `conf/*.yaml` give them."""
    ConfigStore.instance().store(name="schema", node=Config)
    ConfigStore.instance().store(name="data_schema", node=DataConfig)
    ConfigStore.instance().store(name="doctor_schema", node=DoctorConfig)
    ConfigStore.instance().store(name="judge_schema", node=JudgeCommandConfig)


def conf_folder() -> str:
    """The folder of YAML files: inside the package where it is installed, beside it in a checkout."""
    here = Path(__file__).parent
    return str(next(folder for folder in (here / "conf", here.parent / "conf") if folder.is_dir()))


def quoted(argument: str) -> str:
    """A command-line argument that sets a path, as Hydra takes it: to its grammar ~, blanks and brackets mean something
    else, and few shells expand the ~ of `dataset.root=~/MELD`."""
    key, _, path = argument.partition("=")
    if key not in PATHS or not path or path[0] in "'\"" or path.endswith("\\"):
        return argument
    escaped = os.path.expanduser(path).replace("'", "\\'")  # noqa: PTH111  (Path.expanduser raises for an unknown user)
    return f"{key}='{escaped}'"


def hydra_main(job: Callable[[DictConfig], int], name: str = "config") -> int:
    """Compose the config from the command line and run `job`; its exit code, or 2 where the config does not compose."""
    register()
    sys.argv[1:] = map(quoted, sys.argv[1:])
    codes: list[int] = []

    @hydra.main(version_base="1.3", config_path=conf_folder(), config_name=name)
    def composed(config: DictConfig) -> None:
        codes.append(job(config))

    try:
        composed()
    except Swept as swept:
        return swept.worst
    except SystemExit as stop:  # Hydra has printed what does not compose, or its help
        return 2 if stop.code else 0
    return max(codes, default=0)


def resolve(config: DictConfig) -> dict[str, Any]:
    """The config as plain values, the datasets' roots made absolute. Raises ConfigError for a value that is missing."""
    if OmegaConf.is_missing(config, "dataset"):
        raise ConfigError(
            "no dataset is chosen",
            where="configuration",
            hint="dataset=demo, or dataset=meld, iemocap, empathetic or folder with dataset.root=…",
        )
    try:
        config = _with_row(config)
        for key in ("dataset.root", "dataset.memory.root"):
            if root := OmegaConf.select(config, key):
                OmegaConf.update(config, key, str(_home(key, root).absolute()))
        _refuse_label_set(config)
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None) or "?"
        raise ConfigError(
            f"{key} has no value" if "issing" in type(error).__name__ else str(error).splitlines()[0],
            where="configuration",
            hint=f"set it on the command line: {key}=…",
        ) from error
    assert isinstance(plain, dict)
    resolved = {str(key): value for key, value in plain.items() if key not in ("row", "rows")}
    _refuse_unknown(resolved, OmegaConf.get_type(config), "")
    for key in PATHS:
        _home(key, at(resolved, key) or "")
    return resolved


def _with_row(config: DictConfig) -> DictConfig:
    """The config with the settings of the row that was asked for. Where they came from then no longer matters: the same
    settings are the same run in every experiment."""
    row = OmegaConf.select(config, "row")
    if row is None:
        return config
    if row not in config.rows:
        raise ConfigError(
            f"there is no row {row!r}",
            where="configuration",
            hint=f"rows: {', '.join(config.rows) or 'none; they come with +experiment=…'}",
        )
    merged = OmegaConf.merge(config, config.rows[row])
    assert isinstance(merged, DictConfig)
    return merged


def _refuse_label_set(config: DictConfig) -> None:
    """A name of label set that the dataset does not have, before its labels are looked up by it."""
    sets = OmegaConf.select(config, "dataset.label_sets")
    if sets and (name := config.dataset.label_set) not in sets:
        raise ConfigError(
            f"dataset.label_set is {name!r}", where="configuration", hint=f"one of {', '.join(map(str, sets))}"
        )


def _refuse_unknown(node: dict[str, Any], shape: Any, above: str) -> None:
    """A key that no setting has, which `+key=value` would add and nothing would read."""
    if not is_dataclass(shape):
        return
    kinds = get_type_hints(shape)
    for key, value in node.items():
        if key not in kinds:
            near = get_close_matches(key, kinds, 1)
            hint = (
                f"did you mean {above}{near[0]}?" if near else f"settings: {', '.join(above + kind for kind in kinds)}"
            )
            raise ConfigError(f"there is no setting {above}{key}", where="configuration", hint=hint)
        if isinstance(value, dict):
            _refuse_unknown(value, kinds[key], f"{above}{key}.")


def _home(key: str, path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigError(
            f"{key} is {path}, and there is no such user",
            where="configuration",
            hint=f"write the whole path; for a name that begins with ~, {key}=./~…",
        ) from error
