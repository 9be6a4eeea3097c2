"""What a protocol takes of a corpus: how many samples, with which labels, and how many of them have a clip to show.

targets(protocol, selection, corpus.labels, looked_at=2, useless=frozenset())
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from mmerg.corpora.protocols import Protocol, Selection
from mmerg.dialogue import Clip


@dataclass(frozen=True)
class Targets:
    """told: the protocol with its n. labels: targets by label, in the corpus's order ("" for none). with_clip: samples
    with a clip that can be used in one of the `last_turns` turns before the target."""

    told: str
    samples: int
    left_out: Mapping[str, int]
    labels: Mapping[str, int]
    with_clip: int
    last_turns: int


def targets(
    protocol: Protocol, selection: Selection, labels: Sequence[str], last_turns: int, useless: Set[Clip]
) -> Targets:
    """`useless` are the clips that give no frames."""
    # A sample's clips may end earlier than the corpus's own: it is still the same part of the same file.
    bad = {(clip.path, clip.start, clip.crop) for clip in useless}
    found = Counter(sample.target.emotion if sample.target else None for sample in selection.samples)
    with_clip = sum(
        any(
            turn.clip and (turn.clip.path, turn.clip.start, turn.clip.crop) not in bad
            for turn in sample.scene.history[-last_turns:]
        )
        for sample in selection.samples
    )
    counted = {label: found[label] for label in labels} | ({"": found[None]} if found[None] else {})
    return Targets(
        protocol.told(selection), len(selection.samples), dict(selection.left_out), counted, with_clip, last_turns
    )
