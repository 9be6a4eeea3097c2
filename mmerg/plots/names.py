"""The caption below a figure."""

from __future__ import annotations

from collections.abc import Sequence

from mmerg.runs.manifest import About


def caption(abouts: Sequence[About]) -> str:
    """Corpus, protocol with its n, system and backbone; of several runs everything that occurs."""
    manifests = [about.manifest for about in abouts]
    told = (
        [f"{one.corpus.name} {one.corpus.split}" for one in manifests],
        [one.protocol.description for one in manifests],
        [one.system for one in manifests],
        [one.backbone for one in manifests],
    )
    return " · ".join("; ".join(dict.fromkeys(part)) for part in told)
