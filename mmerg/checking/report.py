"""What a check found, what of it is wrong, and its bytes as JSON: the same corpus gives the same bytes.

Report(part(corpus), clips, targets(protocol, selection, corpus, 2, useless)).problems()    # none: it is sound
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from mmerg.console.terminal import printable
from mmerg.corpora.dialogue import Clip, Corpus
from mmerg.corpora.protocols import Selection, describe
from mmerg.corpora.published import Expected, expected
from mmerg.engine.look import COULD_SHOW_TARGET, recent_clips
from mmerg.errors import some
from mmerg.settings.model import ProtocolSettings

DAMAGE = (  # notes that say that a file is not as it was published
    *("rows_malformed", "rows_incomplete", "lines_unreadable", "dialogues_without_turns"),
    *("evaluations_unreadable", "evaluations_without_turn", "labels_missing", "labels_unknown"),
)
NAMED = {  # as in conf/protocol
    "last": ProtocolSettings(),
    "last_labelled": ProtocolSettings(targets="labelled", max_per_dialogue=1),
}
SOME = 5  # clips that a message names; the JSON has all


@dataclass(frozen=True)
class Count:
    """What was found, and how many were published (None: not known)."""

    what: str
    found: int
    official: int | None = None

    @property
    def wrong(self) -> bool:
        return self.official not in (None, self.found)


@dataclass(frozen=True)
class Part:
    """A corpus against its official counts, and whose they are (None: none are known)."""

    name: str
    split: str
    fingerprint: str
    counts: Sequence[Count]
    source: str | None
    notes: Mapping[str, int]

    def problems(self) -> list[str]:
        wrong = ", ".join(f"{one.found} {one.what} ({one.official} official)" for one in self.counts if one.wrong)
        damage = [f"{name} {self.notes[name]}: the files are not as published" for name in DAMAGE if name in self.notes]
        return [f"{self.name} {self.split}: {problem}" for problem in (wrong, *damage) if problem]


def part(corpus: Corpus, official: Expected | None = None) -> Part:
    """A corpus against its official counts: dialogues, turns, replies where their number was published, then each label
    in the corpus's order. Labels are held against the published ones only where the corpus has all of them: a smaller
    set was made on purpose. official: in place of what is known of it."""
    known = official or expected(corpus.name, corpus.split) or Expected(None, None)
    turns = [turn for dialogue in corpus.dialogues for turn in dialogue.turns]
    labels = Counter(turn.emotion for turn in turns)
    published = known.labels if set(known.labels) <= set(corpus.labels) else {}
    counts = [Count("dialogues", len(corpus.dialogues), known.dialogues), Count("turns", len(turns), known.turns)]
    if known.replies is not None:
        replies = sum(
            not dialogue.responders or turn.speaker in dialogue.responders
            for dialogue in corpus.dialogues
            for turn in dialogue.turns[1:]
        )
        counts.append(Count("replies", replies, known.replies))
    counts += [Count(f"turns of {label}", labels[label], published.get(label)) for label in corpus.labels]
    if labels[None]:
        counts.append(Count("turns without a label", labels[None]))
    return Part(corpus.name, corpus.split, corpus.fingerprint, counts, known.source or None, dict(corpus.notes))


@dataclass(frozen=True)
class Targets:
    """What a protocol takes. told: the protocol with its n. labels: targets by label ("" for none). with_clip: samples
    with a clip to use in the `last_turns` turns before the target. in_vain: clips of these turns that give no frames as
    samples show them, by reason. official: how many samples are published, None where that is not known."""

    told: str
    samples: int
    left_out: Mapping[str, int]
    labels: Mapping[str, int]
    with_clip: int
    in_vain: Mapping[str, int]
    last_turns: int
    official: int | None = None

    def problems(self) -> list[str]:
        if not self.samples:
            return [f"the protocol leaves no sample: {self.told}"]
        differs = self.official not in (None, self.samples)
        return [f"{self.samples} samples ({self.official} official): {self.told}"] if differs else []


def targets(
    protocol: ProtocolSettings, selection: Selection, corpus: Corpus, last_turns: int, useless: Mapping[Clip, str]
) -> Targets:
    """`useless`: the clips that give no frames, as samples have them, ended at the target; and why."""
    in_vain: Counter[str] = Counter()
    with_clip = 0
    for sample in selection.samples:
        turns = recent_clips(sample.scene, last_turns)
        clips = [clip for clip in turns.values() if clip]
        with_clip += any(clip not in useless for clip in clips)
        in_vain.update(useless[clip] for clip in clips if clip in useless)
        in_vain[COULD_SHOW_TARGET] += sum(number in turns for number in sample.dropped)
    found = Counter(sample.target.emotion if sample.target else None for sample in selection.samples)
    published = expected(corpus.name, corpus.split)
    known = published.samples if published and published.sample_labels in (None, len(corpus.labels)) else {}
    asked = protocol.model_copy(update={"name": "", "history": None, "seed": 0})
    name = next((name for name, one in NAMED.items() if one == asked), "")
    return Targets(
        told=describe(protocol, selection),
        samples=len(selection.samples),
        left_out=dict(selection.left_out),
        labels={label: found[label] for label in corpus.labels} | ({"": found[None]} if found[None] else {}),
        with_clip=with_clip,
        in_vain=dict(sorted((+in_vain).items())),
        last_turns=last_turns,
        official=known.get(name),
    )


@dataclass(frozen=True)
class BadClip:
    """A clip that is missing or has a flaw. known: it is so in the published release. harmless: frames are taken."""

    clip: str
    turns: tuple[str, ...]
    reason: str
    what: str
    known: bool = False
    harmless: bool = False


@dataclass(frozen=True)
class Clips:
    """looked: `open` or `list`. turns: with a clip that is there, of `of` turns. missing: turns without the clip they
    should have, also where `bad` cannot name it."""

    looked: str
    files: int
    turns: int
    of: int
    missing: int
    bad: Sequence[BadClip]

    def problems(self) -> list[str]:
        """Those that give no frames and are no fault of the release, by reason, the first by name."""
        reasons: dict[str, dict[str, None]] = {}  # one file may have several bad spans
        for one in self.bad:
            if not one.known and not one.harmless:
                reasons.setdefault(one.reason, {})[one.clip or one.turns[0]] = None
        found = []
        for reason, names in sorted(reasons.items()):
            found.append(f"clips {reason}: {len(names)} ({some([*map(printable, names)], SOME)})")
        unnamed = self.missing - sum(len(one.turns) for one in self.bad if one.reason == "missing")
        return found + ([f"clips missing: {unnamed} that cannot be named"] if unnamed > 0 else [])


@dataclass(frozen=True)
class Report:
    """A corpus, its clips (None: its reader looks for none), the samples of a protocol, the memory's corpus if it has
    one, and why a run could not take it (refused)."""

    corpus: Part
    clips: Clips | None
    targets: Targets
    memory: Part | None = None
    refused: str = ""

    def problems(self) -> list[str]:
        """What is wrong with the data, a line each; none where it is sound."""
        clips = self.clips.problems() if self.clips else []
        memory = [*(self.memory.problems() if self.memory else ()), *([self.refused] if self.refused else ())]
        return [*self.corpus.problems(), *clips, *self.targets.problems(), *(f"memory: {one}" for one in memory)]

    def to_json(self) -> bytes:
        """UTF-8, a line feed at the end."""
        return (json.dumps(asdict(self) | {"problems": self.problems()}, indent=1) + "\n").encode()
