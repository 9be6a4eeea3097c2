"""The plan of a run: its parts, built before any call from settings that are read once.

    plan = plan_run(settings)
    plan.samples.wanted, plan.system.prompts, plan.backbone.open(), plan.path

Only the functions here take all settings of a run. Each setting takes effect in one part:

    dataset, protocol, ids, limit, shard    SamplePlan
    system, memory, sources, frames         SystemPlan (mmerg.systems.build, mmerg.experiment.build)
    backbone, backend, cache, cache_dir     BackbonePlan (mmerg.experiment.backbone)
    runs, name, tags, shard, seed           Plan
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from rich.console import Console

from mmerg.backends.protocol import Engine, Sampling
from mmerg.console.progress import Bar
from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.corpora.protocols import Selection, choose_samples, describe, select
from mmerg.engine.keyframes import shuffle_clips
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import Experiment
from mmerg.engine.sources import Source
from mmerg.errors import ConfigError, CorpusError
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.build import build_keyframe_sampler, load_corpus
from mmerg.experiment.equal_tokens import with_equal_tokens
from mmerg.experiment.session import new_session
from mmerg.experiment.sources import build_sources
from mmerg.runs.auditor import Auditor, read_auditor
from mmerg.runs.identity import CLIPS, ENGINE, MEMORY, Digests, combine_digests, digest_run
from mmerg.runs.manifest import Corpus as CorpusSection
from mmerg.runs.manifest import Manifest, MemorySection, ProtocolSection
from mmerg.runs.shards import Shard
from mmerg.settings.kinds import Plain, folder_name
from mmerg.settings.model import DatasetSettings, FramesSettings, ProtocolSettings, RunSettings, SystemSettings
from mmerg.sources.exemplars import Exemplars
from mmerg.storage.files import Snapshot
from mmerg.systems.audit import LabelPrior
from mmerg.systems.build import build_system
from mmerg.systems.system import System


@dataclass(frozen=True)
class SamplePlan:
    """The samples that a protocol selects from a corpus, and the `wanted` ones among them, which this command runs."""

    dataset: DatasetSettings
    corpus: Corpus
    protocol: ProtocolSettings
    selection: Selection
    wanted: Sequence[Sample]

    @classmethod
    def load(cls, dataset: DatasetSettings, protocol: ProtocolSettings, frames: FramesSettings | None = None) -> Self:
        """Reads the corpus and selects all samples. Raises MmergError if it cannot be read or if no sample is left."""
        corpus = load_corpus(dataset)
        selection = select(corpus, protocol)
        if frames:
            selection = replace(selection, samples=shuffle_clips(selection.samples, frames))
        if not selection.samples:
            raise CorpusError(
                f"the protocol selects no sample: {describe(protocol, selection)}",
                where=f"dataset={corpus.name}, {len(corpus.dialogues)} dialogues",
                hint="to see the protocol: mmerg run --cfg job -p protocol",
            )
        return cls(dataset, corpus, protocol, selection, selection.samples)

    def choose(self, ids: Sequence[str] | None, limit: int | None, shard: Shard | None) -> Self:
        """Limits the wanted samples to these ids, this number, and this shard. Raises ConfigError for an unknown id."""
        wanted = choose_samples(self.wanted, ids, limit)
        if shard:
            wanted = [sample for sample in wanted if shard.contains(sample.dialogue_id)]
        return replace(self, wanted=wanted)

    @property
    def ids(self) -> list[str]:
        return [sample.id for sample in self.selection.samples]

    def sections(self) -> tuple[CorpusSection, ProtocolSection]:
        """Returns the sections of the manifest on the corpus and the protocol."""
        corpus, selection = self.corpus, self.selection
        return (
            CorpusSection(name=corpus.name, split=corpus.split, labels=corpus.labels, notes=dict(corpus.notes)),
            ProtocolSection(
                description=describe(self.protocol, selection),
                samples=len(selection.samples),
                dialogues=len(corpus.dialogues),
                skipped=dict(selection.skipped),
            ),
        )


@dataclass(frozen=True)
class SystemPlan:
    """A system that is ready to run on any backbone: its prompts, frames and sources."""

    prompts: Prompts
    frames: FramesSettings
    sources: Mapping[str, Source]
    cache_dir: Path
    auditor: Auditor | None = None

    @property
    def memories(self) -> dict[str, Exemplars]:
        return {symbol: source for symbol, source in self.sources.items() if isinstance(source, Exemplars)}

    def open_memories(self, out: Console) -> None:
        """Opens the memories, and builds those that do not exist."""
        for memory in dict.fromkeys(self.memories.values()):  # equal sources share one
            with Bar(out, "memory: texts embedded") as bar:
                memory.open(bar.report)

    def digests(self, settings: Plain, corpus: Corpus) -> Digests:
        """Returns the parts of a run's identity that are known before the first call."""
        prompts, sources = self.prompts, self.sources
        readers = {
            symbol: source.embedder if isinstance(source, Exemplars) else source for symbol, source in sources.items()
        }
        return digest_run(settings, corpus.fingerprint, prompts.system, prompts.compute_digests(), sources, readers)

    def experiment(
        self, engine: Engine, sampling: Sampling, max_images: int, samples: Sequence[Sample] = ()
    ) -> Experiment:
        sampler = build_keyframe_sampler(self.frames, self.prompts.system, self.cache_dir, samples)
        return Experiment(self.prompts, sampler, sampling, engine, max_images, self.sources)


@dataclass(frozen=True)
class Plan:
    """The plan of a run."""

    settings: Plain  # as the manifest records them
    samples: SamplePlan
    system: SystemPlan
    backbone: BackbonePlan
    shard: Shard | None  # the part of the run to make, if it is split
    row: str  # the name of a sweep's row, such as "top_k=3"
    seed: int
    note: str = ""  # on settings that mmerg chose or ignored

    @cached_property
    def identity(self) -> Digests:
        return self.system.digests(self.settings, self.samples.corpus)

    @cached_property
    def run(self) -> Path:
        """The folder of the run with this identity, which any row of a sweep may have started, or a new one."""
        settings, folder = self.settings, Path(self.settings["runs"])
        names = (self.samples.dataset.name, settings["system"]["name"], folder_name(self.backbone.name))
        start = "-".join([settings["name"] or "-".join(names), *settings["tags"]])
        mark = combine_digests(self.identity)[:8]
        plain = folder / f"{start}-{mark}"
        if plain.exists():
            return plain
        row_folder = re.compile(rf"{re.escape(start)}-\w+=.*-{mark}")
        started = sorted(path for path in folder.glob(f"*=*-{mark}") if row_folder.fullmatch(path.name))
        new = folder / f"{start}-{self.row}-{mark}" if self.row else plain
        return started[0] if started else new

    @property
    def path(self) -> Path:
        """The folder to write: that of the run, or that of a shard in it."""
        return self.shard.folder(self.run) if self.shard else self.run

    @property
    def cached_backbone(self) -> BackbonePlan:
        """The backbone with the completion cache of this run. A shard has a separate cache, since SQLite's locks fail
        on shared file systems."""
        return replace(self.backbone, cache_dir=self.path) if self.shard else self.backbone

    def experiment(self, engine: Engine, samples: Sequence[Sample]) -> Experiment:
        sampling = self.backbone.sampling(self.seed)
        return self.system.experiment(engine, sampling, self.backbone.model.max_images, samples)

    def manifest(self, clips: Snapshot, engine: Engine) -> Manifest:
        """Builds the manifest of a start. The memories must be open."""
        corpus, protocol = self.samples.sections()
        memories = self.system.memories
        sources = dict(self.settings["sources"])
        for symbol, source in self.system.sources.items():
            sources[symbol] = sources[symbol] | getattr(source, "facts", {})  # about files in its settings
        known_later = {CLIPS: clips.digest(), ENGINE: engine.key()}
        known_later |= {f"{MEMORY}{symbol}": memory.memory.digest for symbol, memory in memories.items()}
        return Manifest(
            identity=self.identity | known_later,
            engine=engine,
            corpus=corpus,
            protocol=protocol,
            memories={symbol: MemorySection.model_validate(one.section()) for symbol, one in memories.items()},
            settings=self.settings | {"sources": sources},
            name=self.settings["name"] or "",
            tags=tuple(self.settings["tags"]),
            sessions=(new_session(self.settings),),
        )


def plan_run(settings: RunSettings, row: str = "") -> Plan:
    """Reads the corpus and builds the system, but makes no call. row: the name of a sweep's row. Raises MmergError if
    the corpus cannot be read, if the protocol selects no sample, or if settings contradict each other."""
    shard = Shard.parse(settings.shard) if settings.shard else None
    samples = SamplePlan.load(settings.dataset, settings.protocol, settings.frames)
    samples = samples.choose(settings.ids, settings.limit, shard)
    backbone = BackbonePlan.from_settings(settings)

    def plan(settings: RunSettings) -> Plan:
        note = ""
        if settings.auditor and not uses_auditor(settings.system):
            note = f"auditor={settings.auditor} has no effect: system={settings.system.name} has no auditor"
            settings = settings.model_copy(update={"auditor": None})  # the same run as without it
        return Plan(
            settings=settings.plain(),
            samples=samples,
            system=plan_system(settings, samples.corpus),
            backbone=backbone,
            shard=shard,
            row=row,
            seed=settings.seed,
            note=note,
        )

    note = ""
    if settings.system.equal_tokens:
        settings, note = with_equal_tokens(settings, plan)
    planned = plan(settings)
    refuse_idle_seeds(planned.system.prompts.system, backbone.sampling(settings.seed))
    return replace(planned, note="\n".join(filter(None, [note, planned.note])))


def uses_auditor(system: SystemSettings) -> bool:
    """Returns True if `auditor=…` (checks or label priors) has an effect: an agent audits, or a stage reads labels."""
    audits = system.auditor is not None and system.auditor.name not in system.without
    return audits or any(stage.reads == "labels" for stage in system.stages.values())


def _read_auditor(settings: RunSettings) -> Auditor | None:
    return read_auditor(Path(settings.auditor)) if settings.auditor and uses_auditor(settings.system) else None


def plan_system(settings: RunSettings, corpus: Corpus) -> SystemPlan:
    """Builds the system, with sources for the dialogues of `corpus`."""
    prompts, cache_dir = plan_prompts(settings), Path(settings.cache_dir)
    auditor = _read_auditor(settings)
    if auditor:
        auditor.check_corpus(corpus.fingerprint, f"auditor={settings.auditor}")
    if auditor and auditor.labels:
        prompts.system = with_label_prior(prompts.system, auditor.labels, corpus, f"auditor={settings.auditor}")
        auditor.check_prompts(prompts.compute_label_digests(), f"auditor={settings.auditor}")
    sources = build_sources(settings.sources, settings.dataset.memory, prompts.system, corpus, cache_dir)
    return SystemPlan(prompts, settings.frames, sources, cache_dir, auditor)


def with_label_prior(system: System, prior: LabelPrior, corpus: Corpus, where: str) -> System:
    """Returns the system with its emotions calibrated by `prior`. Raises ConfigError if that has other labels."""
    if set(prior.mean) != set(corpus.labels):
        what = f"its labels are {', '.join(prior.mean)}, but the corpus has {', '.join(corpus.labels)}"
        raise ConfigError(what, where=where, hint="calibrate on a split of this corpus: mmerg audit RUN --labels FILE")
    stages = (replace(stage, prior=prior if stage.label else None) for stage in system.stages)
    return replace(system, stages=tuple(stages))


def plan_prompts(settings: RunSettings) -> Prompts:
    """Builds the system with its templates, and with measured checks if `auditor` names a file, but without sources.
    Raises ConfigError if the checks were measured with other prompts."""
    system, emotion_of = settings.system, settings.dataset.emotion_of
    built = build_system(system, settings.sources).with_frames_shown_to(settings.frames.seen_by)
    prompts = Prompts(built, emotion_of)
    auditor = _read_auditor(settings)
    if auditor and auditor.checks and prompts.system.auditor:
        if system.loop == "refine":
            what = "loop=refine uses free-text feedback, so measured checks have no effect"
            raise ConfigError(what, where=f"auditor={settings.auditor}", hint="remove auditor=…, or use another system")
        auditor.check_prompts(prompts.compute_check_digests(), f"auditor={settings.auditor}")
        prompts = Prompts(prompts.system.with_checks(auditor.checks), emotion_of)
    return prompts


def refuse_idle_seeds(system: System, sampling: Sampling) -> None:
    """Raises ConfigError if all candidates would be the same reply, as they differ only in their seed."""
    temperatures = [sampling.override(agent.sampling).temperature for agent in system.agents]
    if system.n > 1 and not any([*temperatures, system.auditor and system.rerun_temperature]):
        overridden = all("temperature" in agent.sampling for agent in system.agents)  # that of the backbone is not used
        group = f"system.stages.{system.stages[0].name}" if overridden else "backbone"
        what = f"system.n={system.n} would give the same replies each time: every agent's temperature is 0"
        raise ConfigError(what, where="configuration", hint=f"{group}.sampling.temperature=0.7, or system.n=1")
