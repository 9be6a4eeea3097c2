"""A system and its model, ready for talks that have no corpus: the chat server and `mmerg.open` use it.

plan = plan_talk(settings)
sample = plan.sample("talk", turns, speaker="Ben")
plan.experiment(engine).sample(sample, backend, emit, keep_frame)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from mmerg.backends.protocol import Engine
from mmerg.console.progress import Building
from mmerg.console.terminal import console
from mmerg.corpora.dialogue import Corpus, Sample, Turn
from mmerg.corpora.talk import Talk, sample_of
from mmerg.engine.sample import Experiment
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.build import load_corpus
from mmerg.experiment.plan import SystemPlan, plan_system
from mmerg.settings.model import RunSettings


@dataclass(frozen=True)
class TalkPlan:
    """corpus: of no dialogues, with the labels that a reply may have."""

    corpus: Corpus
    system: SystemPlan
    backbone: BackbonePlan
    seed: int

    @classmethod
    def of(cls, settings: RunSettings) -> Self:
        """Memories are opened, and built where they are not there yet. Raises MmergError where settings do not fit each
        other, or a source needs what a talk does not have."""
        corpus = Talk(load_corpus(settings.dataset).labels).load()
        system = plan_system(settings, corpus)
        greeting = sample_of("greeting", [Turn("You", "Hello.")], "", corpus.labels)
        for source in system.sources.values():
            getattr(source, "missing", lambda _: "")([greeting])  # an SEM of other labels is refused
        for memory in system.memories.values():
            with Building(console()) as watch:
                memory.open([], watch)
        return cls(corpus, system, BackbonePlan.of(settings), settings.seed)

    def sample(self, talk: str, turns: Sequence[Turn], speaker: str) -> Sample:
        """The reply of `speaker` after the last of `turns`."""
        return sample_of(talk, turns, speaker, self.corpus.labels)

    def experiment(self, engine: Engine) -> Experiment:
        """What all turns share."""
        return self.system.experiment(engine, self.backbone.sampling(self.seed), self.backbone.model.max_images)
