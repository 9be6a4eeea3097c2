"""What to call a run in a figure: the little that tells it from the others; and the caption below a figure."""

from __future__ import annotations

from collections.abc import Sequence

from mmerg.runs.manifest import About


def names(abouts: Sequence[About]) -> list[str]:
    """A name for each run: the user's own (`name=`, `tags=`) where all have one; else its backbone, with system, corpus
    and the end of its folder's name as far as these are needed to tell it from the others."""
    ends = [about.run.rpartition("-")[2] for about in abouts]
    own = [" ".join(filter(None, (about.manifest.name, *about.manifest.tags))) for about in abouts]
    manifests = [about.manifest for about in abouts]
    choices = [
        *([own] if all(own) else []),
        [one.backbone for one in manifests],
        [f"{one.backbone} {one.system}" for one in manifests],
        [f"{one.backbone} {one.corpus.name}" for one in manifests],
        [f"{one.backbone} {one.system} {one.corpus.name}" for one in manifests],
        [f"{one.backbone} {end}" for one, end in zip(manifests, ends, strict=True)],
        [about.run for about in abouts],
    ]
    return next(choice for choice in choices if len(set(choice)) == len(abouts))


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
