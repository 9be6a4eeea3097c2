"""Which turns are targets: from a corpus to samples, as a named protocol says.

MERG's accuracies on IEMOCAP's Session 5 are all k/31, and the session has 31 dialogues (arXiv 2604.18988).

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
NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Selection:
    """The samples, in the corpus's order, and what gave none, counted by reason."""

    samples: tuple[Sample, ...]
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class Protocol:
    """How samples are taken. Each setting works on what the one before leaves.

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
        left_out: Counter[str] = Counter()
        taken: list[tuple[Dialogue, int]] = []
        for dialogue in corpus.dialogues:
            spoken = [(turn.speaker, turn.emotion) for turn in dialogue.turns]
            spoken += [(dialogue.respond_as, None)] if dialogue.respond_as else []
            first = max(1, len(spoken) - 1) if self.targets == "last" else 1
            targets = {
                number: emotion
                for number, (speaker, emotion) in enumerate(spoken)
                if number >= first
                and (not dialogue.responders or speaker in dialogue.responders)
                and (emotion or self.targets != "labelled")
            }
            left_out["dialogues without a history"] += len(spoken) < 2
            left_out["dialogues without a target"] += len(spoken) >= 2 and not targets
            fitting = [number for number, emotion in targets.items() if allowed is None or emotion in allowed]
            left_out["targets of other emotions"] += len(targets) - len(fitting)
            latest = fitting if self.max_per_dialogue is None else fitting[-self.max_per_dialogue :]
            left_out["targets over max_per_dialogue"] += len(fitting) - len(latest)
            taken += [(dialogue, number) for number in latest]
        if self.sample is not None and self.sample < len(taken):
            left_out["targets not drawn"] = len(taken) - self.sample
            drawn = random.Random(self.seed).sample(range(len(taken)), self.sample)
            taken = [taken[index] for index in sorted(drawn)]
        samples = tuple(cut(dialogue, target, corpus.labels, self.history) for dialogue, target in taken)
        return Selection(samples, dict(+left_out))

    def describe(self, selection: Selection) -> str:
        """The protocol with its n and what was left out, as every output names it."""
        emotions = self.emotions if isinstance(self.emotions, str) else "+".join(self.emotions)
        seed = None if self.sample is None else self.seed
        limits = {
            "max_per_dialogue": self.max_per_dialogue,
            "sample": self.sample,
            "history": self.history,
            "seed": seed,
        }
        given = "".join(f" {name}={value}" for name, value in limits.items() if value is not None)
        left_out = "".join(f", {count} {reason}" for reason, count in selection.left_out.items())
        return f"targets={self.targets} emotions={emotions}{given}, n={len(selection.samples)}{left_out}"

    def _allowed(self, corpus: Corpus) -> frozenset[str] | None:
        """The labels that a target may have; None for all and for no label."""
        if self.emotions == "all":
            return None
        wanted = [NEUTRAL] if self.emotions == "nonneutral" else self.emotions
        if unknown := [emotion for emotion in wanted if emotion not in corpus.labels]:
            what = f"{', '.join(unknown)} is no emotion of {corpus.name}"
            hint = f"all, nonneutral where there is neutral, or a list of {', '.join(corpus.labels)}"
            raise ConfigError(what, where="protocol.emotions", hint=hint)
        return frozenset(corpus.labels) - {NEUTRAL} if self.emotions == "nonneutral" else frozenset(wanted)


def chosen(samples: Sequence[Sample], ids: Sequence[str] | None, limit: int | None) -> list[Sample]:
    """The samples that `ids` (None: all) and `limit` (None: no limit) leave, in order. Raises ConfigError for an id
    that is not there."""
    if ids is not None:
        asked = frozenset(ids)
        if unknown := sorted(asked - {sample.id for sample in samples}):
            some = ", ".join(sample.id for sample in samples[:3])
            raise ConfigError(f"no sample is called {', '.join(unknown)}", where="ids", hint=f"ids look like {some}")
        samples = [sample for sample in samples if sample.id in asked]
    return list(samples[:limit])
