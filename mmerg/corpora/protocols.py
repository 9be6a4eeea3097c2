"""The selection of a corpus's target turns by the settings of a protocol.

The protocol `last_labelled` takes one target per dialogue, as MERG's accuracies on IEMOCAP's Session 5 are multiples of
1/31, and the session has 31 dialogues (arXiv 2604.18988).

    selection = select(corpus, ProtocolSettings())
    len(selection.samples), selection.skipped    # MELD test: 268, {"dialogues without a history": 12}
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmerg.corpora.dialogue import Corpus, Dialogue, Sample, cut_sample
from mmerg.errors import ConfigError
from mmerg.settings.model import ProtocolSettings

NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Selection:
    """The samples of a protocol."""

    samples: tuple[Sample, ...]  # in the corpus's order
    skipped: Mapping[str, int]  # number of dialogues and turns, by reason


def select(corpus: Corpus, protocol: ProtocolSettings) -> Selection:
    """Selects the samples of a corpus. The settings apply in the order targets, emotions, max_per_dialogue, sample. If
    a dialogue names its responders, only their turns are targets. Raises ConfigError for an unknown emotion."""
    emotions = _allowed_emotions(corpus, protocol)
    skipped: Counter[str] = Counter()
    selected: list[tuple[Dialogue, int]] = []
    for dialogue in corpus.dialogues:
        turns = [(turn.speaker, turn.emotion) for turn in dialogue.turns]
        if dialogue.respond_as:
            turns.append((dialogue.respond_as, None))
        first = max(1, len(turns) - 1) if protocol.targets == "last" else 1
        targets = {
            index: emotion
            for index, (speaker, emotion) in enumerate(turns)
            if index >= first
            and (not dialogue.responders or speaker in dialogue.responders)
            and (emotion or protocol.targets != "labelled")
        }
        skipped["dialogues without a history"] += len(turns) < 2
        skipped["dialogues without a target"] += len(turns) >= 2 and not targets
        matching = [index for index, emotion in targets.items() if emotions is None or emotion in emotions]
        skipped["targets with other emotions"] += len(targets) - len(matching)
        latest = matching if protocol.max_per_dialogue is None else matching[-protocol.max_per_dialogue :]
        skipped["targets over max_per_dialogue"] += len(matching) - len(latest)
        selected += [(dialogue, index) for index in latest]
    if protocol.sample is not None and protocol.sample < len(selected):
        skipped["targets not sampled"] = len(selected) - protocol.sample
        drawn = random.Random(protocol.seed).sample(range(len(selected)), protocol.sample)
        selected = [selected[position] for position in sorted(drawn)]
    samples = tuple(cut_sample(dialogue, target, corpus.labels, protocol.history) for dialogue, target in selected)
    return Selection(samples, dict(+skipped))


def describe(protocol: ProtocolSettings, selection: Selection) -> str:
    """Describes the settings of a protocol, the number of samples, and what was skipped, in one line."""
    emotions = protocol.emotions if isinstance(protocol.emotions, str) else "+".join(protocol.emotions)
    names = ["max_per_dialogue", "sample", "history"]
    if protocol.sample is not None:
        names.append("seed")
    settings = ((name, getattr(protocol, name)) for name in names)
    limits = "".join(f" {name}={value}" for name, value in settings if value is not None)
    skipped = "".join(f", {count} {reason}" for reason, count in selection.skipped.items())
    return f"targets={protocol.targets} emotions={emotions}{limits}, n={len(selection.samples)}{skipped}"


def _allowed_emotions(corpus: Corpus, protocol: ProtocolSettings) -> frozenset[str] | None:
    """Returns the emotions that a target may have. None allows all, and targets without a label."""
    if protocol.emotions == "all":
        return None
    wanted = [NEUTRAL] if protocol.emotions == "nonneutral" else protocol.emotions
    if unknown := [emotion for emotion in wanted if emotion not in corpus.labels]:
        what = f"{', '.join(unknown)} is not an emotion of {corpus.name}"
        hint = f"use all, nonneutral (if neutral is a label), or a list of {', '.join(corpus.labels)}"
        raise ConfigError(what, where="protocol.emotions", hint=hint)
    return frozenset(corpus.labels) - {NEUTRAL} if protocol.emotions == "nonneutral" else frozenset(wanted)


def choose_samples(samples: Sequence[Sample], ids: Sequence[str] | None, limit: int | None) -> list[Sample]:
    """Chooses the samples with these ids, in the corpus's order, and at most `limit` of them. None chooses all. Raises
    ConfigError for an unknown id."""
    if ids is not None:
        wanted = frozenset(ids)
        if unknown := sorted(wanted - {sample.id for sample in samples}):
            examples = ", ".join(sample.id for sample in samples[:3])
            what = f"no sample is called {', '.join(unknown)}"
            raise ConfigError(what, where="ids", hint=f"ids look like {examples}")
        samples = [sample for sample in samples if sample.id in wanted]
    return list(samples[:limit])
