"""Which turns are targets: from a corpus to samples, as a named protocol says.

A figure means nothing without it. MERG's accuracies on IEMOCAP's Session 5 are all k/31, and the session has 31
dialogues (arXiv 2604.18988): one target a dialogue. Reads no file and shows nothing to a model.

    selection = Protocol().select(corpus)
    len(selection.samples), selection.left_out    # MELD test: 268, {"dialogues without a history": 12}
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mmerg.corpora.dialogue import Corpus, Dialogue, Sample, cut
from mmerg.errors import ConfigError

Targets = Literal["last", "all", "labelled"]
REASONS = (  # in the order in which they are told
    "dialogues without a history",
    "dialogues without a target",
    "targets of other emotions",
    "targets over max_per_dialogue",
    "targets not drawn",
)
NEUTRAL, NONNEUTRAL = "neutral", "nonneutral"


@dataclass(frozen=True, slots=True)
class Selection:
    """The samples, in the corpus's order, and what gave none, counted by reason."""

    samples: tuple[Sample, ...]
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class Protocol:
    """How samples are taken. Each step works on what the one before leaves:

    targets: last (the final turn, or the reply after it where `respond_as` asks for one), all (every turn that has a
    history), labelled (those of them that carry a label). Where a dialogue names its responders, turns of others are no
    targets. emotions: all, nonneutral, or the labels that a target may have. max_per_dialogue: the latest so many.
    sample: so many of all, drawn with `seed`. history: turns shown.
    """

    targets: Targets = "last"
    emotions: Literal["all", "nonneutral"] | Sequence[str] = "all"
    max_per_dialogue: int | None = None
    sample: int | None = None
    seed: int = 0
    history: int | None = None

    def select(self, corpus: Corpus) -> Selection:
        """The samples of a corpus. Raises ConfigError for an emotion that is no label of the corpus."""
        allowed = self._allowed(corpus)
        left_out: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        taken: list[tuple[Dialogue, int]] = []
        for dialogue in corpus.dialogues:
            targets = self._targets(dialogue, left_out)
            fitting = [t for t in targets if allowed is None or _emotion(dialogue, t) in allowed]
            left_out["targets of other emotions"] += len(targets) - len(fitting)
            latest = fitting if self.max_per_dialogue is None else fitting[-self.max_per_dialogue :]
            left_out["targets over max_per_dialogue"] += len(fitting) - len(latest)
            taken += [(dialogue, target) for target in latest]
        if self.sample is not None and self.sample < len(taken):
            left_out["targets not drawn"] = len(taken) - self.sample
            drawn = random.Random(self.seed).sample(range(len(taken)), self.sample)
            taken = [taken[index] for index in sorted(drawn)]
        samples = tuple(cut(dialogue, target, corpus.labels, self.history) for dialogue, target in taken)
        return Selection(samples, {reason: count for reason, count in left_out.items() if count})

    def describe(self, selection: Selection) -> str:
        """The protocol with its n, as every output names it: what differs from the defaults, and what was left out."""
        emotions = self.emotions if isinstance(self.emotions, str) else "+".join(self.emotions)
        named = {"targets": self.targets, "emotions": emotions}
        optional = {"max_per_dialogue": self.max_per_dialogue, "sample": self.sample, "history": self.history}
        named |= {name: str(value) for name, value in optional.items() if value is not None}
        if self.sample is not None:
            named["seed"] = str(self.seed)
        without = "".join(f", {count} {reason}" for reason, count in selection.left_out.items())
        return " ".join(f"{name}={value}" for name, value in named.items()) + f", n={len(selection.samples)}{without}"

    def _allowed(self, corpus: Corpus) -> frozenset[str] | None:
        """The labels that a target may have; None for all and for no label."""
        if self.emotions == "all":
            return None
        wanted = [NEUTRAL] if self.emotions == NONNEUTRAL else self.emotions
        if unknown := [emotion for emotion in wanted if emotion not in corpus.labels]:
            raise ConfigError(
                f"{', '.join(unknown)} is no emotion of {corpus.name}",
                where="protocol.emotions",
                hint=f"all, nonneutral where there is neutral, or a list of {', '.join(corpus.labels)}",
            )
        return frozenset(corpus.labels) - {NEUTRAL} if self.emotions == NONNEUTRAL else frozenset(wanted)

    def _targets(self, dialogue: Dialogue, left_out: Counter[str]) -> list[int]:
        """Turn numbers from 0, in order; `len(turns)` stands for the reply after the last turn."""
        if len(dialogue.turns) + (dialogue.respond_as is not None) < 2:
            left_out["dialogues without a history"] += 1
            return []
        if self.targets == "last":
            last = len(dialogue.turns) - (dialogue.respond_as is None)
            targets = [last] if _may_be_target(dialogue, last) else []
        else:
            targets = [number for number in range(1, len(dialogue.turns) + 1) if _may_be_target(dialogue, number)]
        if self.targets == "labelled":
            targets = [target for target in targets if _emotion(dialogue, target)]
        if not targets:
            left_out["dialogues without a target"] += 1
        return targets


def _may_be_target(dialogue: Dialogue, number: int) -> bool:
    """Whether a turn has a history and somebody speaks it whose replies are asked for."""
    if number == 0 or (number == len(dialogue.turns) and dialogue.respond_as is None):
        return False
    speaker = dialogue.respond_as if number == len(dialogue.turns) else dialogue.turns[number].speaker
    return not dialogue.responders or speaker in dialogue.responders


def _emotion(dialogue: Dialogue, number: int) -> str | None:
    return dialogue.turns[number].emotion if number < len(dialogue.turns) else None


def chosen(samples: Sequence[Sample], ids: Sequence[str] | None, limit: int | None) -> list[Sample]:
    """The samples that `ids` (None: all) and `limit` (None: no limit) leave, in order.

    Raises ConfigError for an id that is not there.
    """
    if ids is not None:
        asked = frozenset(ids)
        if unknown := sorted(asked - {sample.id for sample in samples}):
            some = ", ".join(sample.id for sample in samples[:3])
            raise ConfigError(f"no sample is called {', '.join(unknown)}", where="ids", hint=f"ids look like {some}")
        samples = [sample for sample in samples if sample.id in asked]
    return list(samples[:limit])
