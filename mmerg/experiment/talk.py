"""Talks without a corpus, for the chat server and `mmerg.open`.

plan = TalkPlan.from_settings(settings)
turns, uploads = turns_and_uploads([("Ana", "I got the job!", [upload])])
experiment = with_uploads(plan.experiment(engine), uploads)
experiment.run_sample(plan.sample("talk", turns, speaker="Ben"), backend, emit, keep_frame)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from mmerg.backends.protocol import Engine
from mmerg.console.terminal import console
from mmerg.corpora.dialogue import Clip, Corpus, Sample, Turn
from mmerg.corpora.talk import Talk, build_sample
from mmerg.engine.sample import Experiment
from mmerg.engine.uploads import Upload, Uploads
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.build import load_corpus
from mmerg.experiment.plan import SystemPlan, plan_system
from mmerg.frames.store import InMemoryFrameStore
from mmerg.settings.model import RunSettings

WORDLESS = "(shows something and says nothing)"


@dataclass(frozen=True)
class TalkPlan:
    """A system and its backbone, ready for talks. corpus: has no dialogues, but the labels that a reply may have."""

    corpus: Corpus
    system: SystemPlan
    backbone: BackbonePlan
    seed: int

    @classmethod
    def from_settings(cls, settings: RunSettings) -> Self:
        """Builds the system and opens its memories. Raises MmergError if settings contradict each other, or if a source
        needs an input that talks lack."""
        corpus = Talk(load_corpus(settings.dataset).labels).load()
        system = plan_system(settings, corpus)
        greeting = build_sample("greeting", [Turn("You", "Hello.")], "", corpus.labels)
        for source in system.sources.values():
            getattr(source, "describe_missing", lambda _: "")([greeting])  # refuses an SEM with other labels
        system.open_memories(console())
        return cls(corpus, system, BackbonePlan.from_settings(settings), settings.seed)

    def sample(self, talk: str, turns: Sequence[Turn], speaker: str) -> Sample:
        return build_sample(talk, turns, speaker, self.corpus.labels)

    def experiment(self, engine: Engine) -> Experiment:
        """Builds the experiment of all turns. Raises ConfigError if the auditor was measured on another model."""
        if self.system.auditor:
            self.system.auditor.check_engine(engine, "auditor")
        return self.system.experiment(engine, self.backbone.sampling(self.seed), self.backbone.model.max_images)


def turns_and_uploads(talk: Sequence[tuple[str, str, Sequence[Upload]]]) -> tuple[list[Turn], Uploads]:
    """Returns the turns of a talk, given as speaker, text and files; and the files by the path of their turn's clip."""
    turns: list[Turn] = []
    files: dict[Path, Sequence[Upload]] = {}
    for number, (speaker, text, shown) in enumerate(talk, start=1):
        place = Path(f"turn {number}")
        if shown:
            files[place] = shown
        turns.append(Turn(speaker, text.strip() or WORDLESS, clip=Clip(place) if shown else None))
    return turns, Uploads(files)


def with_uploads(shared: Experiment, uploads: Uploads, seed: int | None = None) -> Experiment:
    """Returns the experiment with uploads as clips, keyframes only in memory, and another seed, if given."""
    sampling = shared.sampling if seed is None else replace(shared.sampling, seed=seed)
    sampler = replace(shared.sampler, store=InMemoryFrameStore(), prefetcher=uploads)
    return replace(shared, sampler=sampler, sampling=sampling)
