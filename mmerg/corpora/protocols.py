"""Protocols select the target turns of a corpus.

MERG's accuracies on IEMOCAP's Session 5 are multiples of 1/31, and the session has 31 dialogues (arXiv 2604.18988).

    selection = select(corpus, ProtocolSettings())
    len(selection.samples), selection.left_out    # MELD test: 268, {"dialogues without a history": 12}
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmerg.corpora.dialogue import Corpus, Dialogue, Sample, cut
from mmerg.errors import ConfigError
from mmerg.settings.model import ProtocolSettings

NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Selection:
    """The samples in the corpus's order, and the number of dialogues and turns left out, by reason."""

    samples: tuple[Sample, ...]
    left_out: Mapping[str, int]


def select(corpus: Corpus, protocol: ProtocolSettings) -> Selection:
    """Select the samples of a corpus. Settings apply in the order targets, emotions, max_per_dialogue, sample. If a
    dialogue names its responders, only their turns are targets. Raises ConfigError for an unknown emotion."""
    allowed = _allowed(corpus, protocol)
    left_out: Counter[str] = Counter()
    taken: list[tuple[Dialogue, int]] = []
    for dialogue in corpus.dialogues:
        spoken = [(turn.speaker, turn.emotion) for turn in dialogue.turns]
        spoken += [(dialogue.respond_as, None)] if dialogue.respond_as else []
        first = max(1, len(spoken) - 1) if protocol.targets == "last" else 1
        targets = {
            number: emotion
            for number, (speaker, emotion) in enumerate(spoken)
            if number >= first
            and (not dialogue.responders or speaker in dialogue.responders)
            and (emotion or protocol.targets != "labelled")
        }
        left_out["dialogues without a history"] += len(spoken) < 2
        left_out["dialogues without a target"] += len(spoken) >= 2 and not targets
        fitting = [number for number, emotion in targets.items() if allowed is None or emotion in allowed]
        left_out["targets with other emotions"] += len(targets) - len(fitting)
        latest = fitting if protocol.max_per_dialogue is None else fitting[-protocol.max_per_dialogue :]
        left_out["targets over max_per_dialogue"] += len(fitting) - len(latest)
        taken += [(dialogue, number) for number in latest]
    if protocol.sample is not None and protocol.sample < len(taken):
        left_out["targets not drawn"] = len(taken) - protocol.sample
        drawn = random.Random(protocol.seed).sample(range(len(taken)), protocol.sample)
        taken = [taken[index] for index in sorted(drawn)]
    samples = tuple(cut(dialogue, target, corpus.labels, protocol.history) for dialogue, target in taken)
    return Selection(samples, dict(+left_out))


def describe(protocol: ProtocolSettings, selection: Selection) -> str:
    """The protocol's settings, the number of samples, and what was left out, in one line."""
    emotions = protocol.emotions if isinstance(protocol.emotions, str) else "+".join(protocol.emotions)
    names = ("max_per_dialogue", "sample", "history", *(["seed"] if protocol.sample is not None else []))
    limits = ((name, getattr(protocol, name)) for name in names)
    given = "".join(f" {name}={value}" for name, value in limits if value is not None)
    left_out = "".join(f", {count} {reason}" for reason, count in selection.left_out.items())
    return f"targets={protocol.targets} emotions={emotions}{given}, n={len(selection.samples)}{left_out}"


def _allowed(corpus: Corpus, protocol: ProtocolSettings) -> frozenset[str] | None:
    """The labels that a target may have, or None if any label or none will do."""
    if protocol.emotions == "all":
        return None
    wanted = [NEUTRAL] if protocol.emotions == "nonneutral" else protocol.emotions
    if unknown := [emotion for emotion in wanted if emotion not in corpus.labels]:
        what = f"{', '.join(unknown)} is not an emotion of {corpus.name}"
        hint = f"all, nonneutral where there is neutral, or a list of {', '.join(corpus.labels)}"
        raise ConfigError(what, where="protocol.emotions", hint=hint)
    return frozenset(corpus.labels) - {NEUTRAL} if protocol.emotions == "nonneutral" else frozenset(wanted)


def chosen(samples: Sequence[Sample], ids: Sequence[str] | None, limit: int | None) -> list[Sample]:
    """The samples with these ids (None: all) in the corpus's order, at most `limit` (None: no limit). Raises
    ConfigError for an unknown id."""
    if ids is not None:
        asked = frozenset(ids)
        if unknown := sorted(asked - {sample.id for sample in samples}):
            some = ", ".join(sample.id for sample in samples[:3])
            raise ConfigError(f"no sample is called {', '.join(unknown)}", where="ids", hint=f"ids look like {some}")
        samples = [sample for sample in samples if sample.id in asked]
    return list(samples[:limit])
