"""What a protocol takes of a corpus: how many samples, with which labels, and how many of them have a clip to show.

targets(protocol, selection, corpus.labels, last_turns=2, useless={Clip(path): "unreadable"})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mmerg.corpora.dialogue import Clip
from mmerg.corpora.protocols import Protocol, Selection
from mmerg.corpora.published import Expected
from mmerg.engine.look import COULD_SHOW_TARGET
from mmerg.engine.plan import looked_at

NAMED = {"last": Protocol(), "last_labelled": Protocol("labelled", max_per_dialogue=1)}  # as in conf/protocol


@dataclass(frozen=True)
class Targets:
    """told: the protocol with its n. labels: targets by label, in the corpus's order ("" for none). with_clip: samples
    with a clip that can be used in one of the `last_turns` turns before the target. in_vain: clips of these turns that
    give no frames, as samples show them, by reason. official: how many samples the protocol gave in what is published,
    None where that is not known."""

    told: str
    samples: int
    left_out: Mapping[str, int]
    labels: Mapping[str, int]
    with_clip: int
    in_vain: Mapping[str, int]
    last_turns: int
    official: int | None = None

    def problems(self) -> list[str]:
        """No sample, or another number than the published one."""
        if not self.samples:
            return [f"the protocol leaves no sample: {self.told}"]
        differs = self.official is not None and self.samples != self.official
        return [f"{self.samples} samples ({self.official} official): {self.told}"] if differs else []


def targets(
    protocol: Protocol,
    selection: Selection,
    labels: Sequence[str],
    last_turns: int,
    useless: Mapping[Clip, str],
    official: int | None = None,
) -> Targets:
    """`useless` are the clips that give no frames, with the reason; clips as samples have them, ended at the target."""
    in_vain: Counter[str] = Counter()
    with_clip = 0
    for sample in selection.samples:
        turns = looked_at(sample.scene, last_turns)
        clips = [clip for clip in turns.values() if clip]
        with_clip += any(clip not in useless for clip in clips)
        in_vain.update(useless[clip] for clip in clips if clip in useless)
        in_vain[COULD_SHOW_TARGET] += sum(number in turns for number in sample.dropped)
    found = Counter(sample.target.emotion if sample.target else None for sample in selection.samples)
    counted = {label: found[label] for label in labels} | ({"": found[None]} if found[None] else {})
    return Targets(
        told=protocol.told(selection),
        samples=len(selection.samples),
        left_out=dict(selection.left_out),
        labels=counted,
        with_clip=with_clip,
        in_vain={reason: count for reason, count in sorted(in_vain.items()) if count},
        last_turns=last_turns,
        official=official,
    )


def official_samples(protocol: Protocol, published: Expected | None, labels: int) -> int | None:
    """How many samples the published work took by this protocol, None where it is not known. labels: how many there are
    in the corpus; a number of labelled targets belongs to a number of labels."""
    asked = replace(protocol, history=None, seed=0 if protocol.sample is None else protocol.seed)
    name = next((name for name, one in NAMED.items() if one == asked), None)
    if published is None or name is None or published.sample_labels not in (None, labels):
        return None
    return published.samples.get(name)
