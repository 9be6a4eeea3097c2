"""The typed shape of `conf/`: what can be set.

Hydra composes the YAML files onto these classes and refuses unknown keys and wrong types. Registered by `register`,
called by entry points; importing does nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING


@dataclass
class MemorySourceConfig:
    """The corpus that exemplars come from: its reader, and the settings that its YAML passes on."""

    root: str | None = None
    split: str | None = None
    sessions: list[int] | None = None
    reader: dict[str, Any] = MISSING


@dataclass
class DatasetConfig:
    """A corpus reader (`_target_` with its arguments) and the settings that its YAML passes on. memory: the corpus that
    exemplars come from, never the one that is evaluated, as a node with a `reader` of its own; null: there is none."""

    name: str = MISSING
    root: str | None = None
    split: str = "test"
    sessions: list[int] | None = None  # in place of a split, where a corpus comes in sessions
    variant: str | None = None  # of a corpus that is published in several
    label_set: str | None = None  # of a corpus that has several
    labels: list[str] | None = None  # null: the reader's own
    reader: dict[str, Any] = MISSING
    memory: MemorySourceConfig | None = None


@dataclass
class SystemConfig:
    """See `conf/system/merg.yaml`, which explains each key."""

    name: str = MISSING
    prompts: str = MISSING
    loop: Any = "audit"
    max_iterations: int = 2
    max_repairs: int = 2
    without: list[str] = field(default_factory=list)
    organization: str = "cascaded"
    final_selection: str = "lexicographic"
    stages: dict[str, Any] = MISSING
    auditor: dict[str, Any] | None = None
    vocabulary: dict[str, list[str]] = field(default_factory=dict)
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
    _target_: str = "mmerg.sources.exemplars.FromMemory"
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
    sources: dict[str, Any] = field(default_factory=dict)
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


def register() -> None:
    """Make the schemas known to Hydra, by the names that `conf/*.yaml` give them."""
    ConfigStore.instance().store(name="schema", node=Config)
    ConfigStore.instance().store(name="data_schema", node=DataConfig)
    ConfigStore.instance().store(name="doctor_schema", node=DoctorConfig)
    ConfigStore.instance().store(name="judge_schema", node=JudgeCommandConfig)
