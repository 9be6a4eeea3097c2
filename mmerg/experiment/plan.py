"""A run before a model is asked: its settings, read once into the parts that are needed from then on.

    plan = plan_run(settings)
    plan.samples.wanted, plan.system.prompts, plan.backbone.open(), plan.path

The functions here are the only ones that take all settings of a run. Where each takes effect:

    dataset, protocol, ids, limit, shard    SamplePlan
    system, memory, sources, frames         SystemPlan (mmerg.systems.build, mmerg.experiment.build)
    backbone, backend, cache, cache_dir     BackbonePlan (mmerg.experiment.backbone)
    runs, name, tags, shard                 FolderPlan
    seed, repeats, only_failed              Plan
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from mmerg.backends.protocol import Engine, Sampling
from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.corpora.protocols import Selection, choose_samples, describe, select
from mmerg.engine.keyframes import shuffle_clips
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import Experiment
from mmerg.engine.sources import Source
from mmerg.errors import ConfigError, CorpusError
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.build import build_keyframe_sampler, build_prompts, load_corpus
from mmerg.experiment.equal_tokens import with_equal_tokens
from mmerg.experiment.session import new_session
from mmerg.experiment.sources import build_sources
from mmerg.runs.auditor import Auditor, read_auditor
from mmerg.runs.identity import CLIPS, ENGINE, MEMORY, Digests, combine_digests, digest_run, serialize_engine
from mmerg.runs.manifest import Corpus as CorpusSection
from mmerg.runs.manifest import Manifest, MemorySection, ProtocolSection
from mmerg.runs.shards import Shard
from mmerg.settings.kinds import Plain, folder_name
from mmerg.settings.model import DatasetSettings, FramesSettings, ProtocolSettings, RunSettings, SystemSettings
from mmerg.sources.exemplars import Exemplars
from mmerg.storage.files import Snapshot
from mmerg.systems.audit import LabelPrior
from mmerg.systems.system import System


@dataclass(frozen=True)
class SamplePlan:
    """The samples that a protocol selects from a corpus. wanted: those of this command."""

    dataset: DatasetSettings
    corpus: Corpus
    protocol: ProtocolSettings
    selection: Selection
    wanted: Sequence[Sample]

    @classmethod
    def load(cls, dataset: DatasetSettings, protocol: ProtocolSettings, frames: FramesSettings | None = None) -> Self:
        """All samples. Raises MmergError if the corpus cannot be read, or the protocol selects no sample."""
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
        """The plan with only these samples wanted. Raises ConfigError for an unknown id."""
        wanted = choose_samples(self.wanted, ids, limit)
        return replace(self, wanted=[one for one in wanted if shard is None or shard.contains(one.dialogue_id)])

    @property
    def ids(self) -> list[str]:
        return [sample.id for sample in self.selection.samples]

    def sections(self) -> tuple[CorpusSection, ProtocolSection]:
        corpus, selection = self.corpus, self.selection
        return (
            CorpusSection(name=corpus.name, split=corpus.split, labels=corpus.labels, notes=dict(corpus.notes)),
            ProtocolSection(
                description=describe(self.protocol, selection),
                samples=len(selection.samples),
                dialogues=len(corpus.dialogues),
                left_out=dict(selection.left_out),
            ),
        )


@dataclass(frozen=True)
class SystemPlan:
    """A system ready for any backbone: its prompts, its frames, and its sources."""

    prompts: Prompts
    frames: FramesSettings
    sources: Mapping[str, Source]
    cache_dir: Path
    auditor: Auditor | None = None

    @property
    def memories(self) -> dict[str, Exemplars]:
        return {symbol: source for symbol, source in self.sources.items() if isinstance(source, Exemplars)}

    def digests(self, settings: Plain, corpus: Corpus) -> Digests:
        """The parts of a run's identity that are known before a model is asked."""
        prompts, sources = self.prompts, self.sources
        readers = {name: one.embedder if isinstance(one, Exemplars) else one for name, one in sources.items()}
        return digest_run(settings, corpus.fingerprint, prompts.system, prompts.compute_digests(), sources, readers)

    def experiment(
        self, engine: Engine, sampling: Sampling, max_images: int, samples: Sequence[Sample] = ()
    ) -> Experiment:
        sampler = build_keyframe_sampler(self.frames, self.prompts.system, self.cache_dir, samples)
        return Experiment(self.prompts, sampler, sampling, engine, max_images, self.sources)


@dataclass(frozen=True)
class FolderPlan:
    """Where a run is written. names: the start of its name. name, tags: the user's. row: of a sweep, such as
    "top_k=3"."""

    runs: Path
    names: Sequence[str]
    name: str
    tags: tuple[str, ...]
    shard: Shard | None
    row: str = ""

    def run(self, identity: Digests) -> Path:
        start = "-".join([*([self.name] if self.name else self.names), *self.tags])
        mark = combine_digests(identity)[:8]
        plain = self.runs / f"{start}-{mark}"
        if plain.exists():
            return plain
        of_a_row = re.compile(rf"{re.escape(start)}-\w+=.*-{mark}")
        there = [path for path in sorted(self.runs.glob(f"*=*-{mark}")) if of_a_row.fullmatch(path.name)]
        new = self.runs / f"{start}-{self.row}-{mark}" if self.row else plain
        return there[0] if there else new


@dataclass(frozen=True)
class Plan:
    """A run, or one of its repeats. settings: as in its manifest."""

    settings: Plain
    samples: SamplePlan
    system: SystemPlan
    backbone: BackbonePlan
    folder: FolderPlan
    seed: int
    only_failed: bool
    note: str = ""  # on choices made automatically

    @cached_property
    def identity(self) -> Digests:
        return self.system.digests(self.settings, self.samples.corpus)

    @cached_property
    def run(self) -> Path:
        return self.folder.run(self.identity)

    @property
    def path(self) -> Path:
        """The folder to write: the run's, or that of a shard in it."""
        return self.folder.shard.folder(self.run) if self.folder.shard else self.run

    @property
    def replies(self) -> BackbonePlan:
        """The backbone with this run's reply cache. Shared file systems break SQLite's locks, so each shard has its own
        cache."""
        return replace(self.backbone, cache_dir=self.path) if self.folder.shard else self.backbone

    def repeats(self, count: int) -> Iterator[Plan]:
        """That many runs with different seeds. Raises ConfigError if each would give the same replies."""
        refuse_idle_seeds(count, self.system.prompts.system, self.backbone.sampling(self.seed))
        for seed in range(self.seed, self.seed + count):
            yield replace(self, settings=self.settings | {"seed": seed}, seed=seed)

    def experiment(self, engine: Engine, samples: Sequence[Sample]) -> Experiment:
        sampling = self.backbone.sampling(self.seed)
        return self.system.experiment(engine, sampling, self.backbone.model.max_images, samples)

    def manifest(self, clips: Snapshot, engine: Engine) -> Manifest:
        """The manifest of a start. Memories are open by now."""
        corpus, protocol = self.samples.sections()
        memories = self.system.memories
        sources = dict(self.settings["sources"])
        for symbol, source in self.system.sources.items():
            sources[symbol] = sources[symbol] | getattr(source, "facts", {})  # about files in its settings
        late = {CLIPS: clips.digest(), ENGINE: serialize_engine(engine)}
        return Manifest(
            identity=self.identity | late | {f"{MEMORY}{name}": one.memory.digest for name, one in memories.items()},
            engine=engine,
            corpus=corpus,
            protocol=protocol,
            memories={symbol: MemorySection.model_validate(one.section()) for symbol, one in memories.items()},
            settings=self.settings | {"sources": sources},
            name=self.folder.name,
            tags=self.folder.tags,
            sessions=(new_session(self.settings),),
        )


def plan_run(settings: RunSettings, row: str = "") -> Plan:
    """row: of a sweep. Reads the corpus and builds the system, but asks no model. Raises MmergError if the corpus
    cannot be read, the protocol selects no sample, or settings do not fit each other."""
    shard = Shard.parse(settings.shard) if settings.shard else None
    samples = SamplePlan.load(settings.dataset, settings.protocol, settings.frames)
    samples = samples.choose(settings.ids, settings.limit, shard)
    backbone = BackbonePlan.from_settings(settings)

    def plan(settings: RunSettings) -> Plan:
        note = ""
        if settings.auditor and not uses_auditor(settings.system):
            note = f"auditor={settings.auditor} has no effect: system={settings.system.name} has no auditor"
            settings = settings.model_copy(update={"auditor": None})  # the same run as without it
        names = (settings.dataset.name, settings.system.name, folder_name(backbone.name))
        return Plan(
            settings=settings.plain(),
            samples=samples,
            system=plan_system(settings, samples.corpus),
            backbone=backbone,
            folder=FolderPlan(Path(settings.runs), names, settings.name or "", settings.tags, shard, row),
            seed=settings.seed,
            only_failed=settings.only_failed,
            note=note,
        )

    if not settings.system.equal_tokens:
        return plan(settings)
    settings, note = with_equal_tokens(settings, plan)
    planned = plan(settings)
    return replace(planned, note="\n".join(filter(None, [note, planned.note])))


def uses_auditor(system: SystemSettings) -> bool:
    """Whether measured checks or label priors (`auditor=…`) have an effect: an agent audits, or labels are read."""
    audits = system.auditor is not None and system.auditor.name not in system.without
    return audits or any(stage.reads == "labels" for stage in system.stages.values())


def _read_auditor(settings: RunSettings) -> Auditor | None:
    used = settings.auditor and uses_auditor(settings.system)
    return read_auditor(Path(settings.auditor)) if used and settings.auditor else None


def plan_system(settings: RunSettings, corpus: Corpus) -> SystemPlan:
    """The system with sources for dialogues of `corpus`."""
    prompts, cache_dir = plan_prompts(settings), Path(settings.cache_dir)
    auditor = _read_auditor(settings)
    if auditor:
        auditor.check_corpus(corpus.fingerprint, f"auditor={settings.auditor}")
    if auditor and auditor.labels:
        prompts.system = calibrated(prompts.system, auditor.labels, corpus, f"auditor={settings.auditor}")
        auditor.check_prompts(prompts.compute_label_digests(), f"auditor={settings.auditor}")
    sources = build_sources(settings.sources, settings.dataset.memory, prompts.system, corpus, cache_dir)
    return SystemPlan(prompts, settings.frames, sources, cache_dir, auditor)


def calibrated(system: System, prior: LabelPrior, corpus: Corpus, where: str) -> System:
    """The system with calibrated labels. Raises ConfigError if `prior` has other labels."""
    if set(prior.mean) != set(corpus.labels):
        what = f"its labels are {', '.join(prior.mean)}, but the corpus has {', '.join(corpus.labels)}"
        raise ConfigError(what, where=where, hint="calibrate on a split of this corpus: mmerg audit RUN --labels FILE")
    stages = (replace(stage, prior=prior if stage.label else None) for stage in system.stages)
    return replace(system, stages=tuple(stages))


def plan_prompts(settings: RunSettings) -> Prompts:
    """The system with its templates, and with measured checks if `auditor` names a file. Makes no source and reads
    nothing else. Raises ConfigError if the checks were measured with other prompts."""
    system, dataset = settings.system, settings.dataset
    prompts = build_prompts(system, settings.sources, settings.frames.seen_by, dataset.emotion_of)
    auditor = _read_auditor(settings)
    if auditor and auditor.checks and prompts.system.auditor:
        if system.loop == "refine":
            what = "loop=refine uses free-text feedback, so measured checks have no effect"
            raise ConfigError(what, where=f"auditor={settings.auditor}", hint="remove auditor=…, or use another system")
        prompts = Prompts(prompts.system.with_checks(auditor.checks), dataset.emotion_of)
        auditor.check_prompts(prompts.compute_check_digests(), f"auditor={settings.auditor}")
    return prompts


def refuse_idle_seeds(repeats: int, system: System, sampling: Sampling) -> None:
    """Raises ConfigError if runs, or candidates of a sample, that differ only in their seed would give the same
    replies."""
    asked = {"repeats": repeats, "system.n": system.n}
    many = next((name for name, count in asked.items() if count > 1), None)
    warm = [sampling.override(agent.sampling).temperature for agent in system.agents]
    if many and not any([*warm, system.auditor and system.rerun_temperature]):
        cold = all("temperature" in agent.sampling for agent in system.agents)  # whatever the backbone's is
        hot = f"system.stages.{system.stages[0].name}" if cold else "backbone"
        what = f"{many}={asked[many]} would give the same replies each time: every agent's temperature is 0"
        raise ConfigError(what, where="configuration", hint=f"{hot}.sampling.temperature=0.7, or {many}=1")
