"""What to call a run in a figure: the little that tells it from the others; and the caption below a figure."""

from __future__ import annotations

from collections.abc import Sequence

from mmerg.runs.manifest import About


def names(abouts: Sequence[About]) -> list[str]:
    """A name for each run: the user's own (`name=`, `tags=`) where all have one; else its backbone, with system, corpus
    and the end of its folder's name as far as these are needed to tell it from the others."""
    ends = [about.run.rpartition("-")[2] for about in abouts]
    own = [" ".join(filter(None, (about.manifest.name, *about.manifest.tags))) for about in abouts]
    choices = [
        *([own] if all(own) else []),
        [about.backbone for about in abouts],
        [f"{about.backbone} {about.system}" for about in abouts],
        [f"{about.backbone} {about.corpus}" for about in abouts],
        [f"{about.backbone} {about.system} {about.corpus}" for about in abouts],
        [f"{about.backbone} {end}" for about, end in zip(abouts, ends, strict=True)],
        [about.run for about in abouts],
    ]
    return next(choice for choice in choices if len(set(choice)) == len(abouts))


def caption(abouts: Sequence[About]) -> str:
    """Corpus, protocol with its n, system and backbone; of several runs everything that occurs."""
    told = (
        [f"{about.corpus} {about.split}" for about in abouts],
        [about.protocol for about in abouts],
        [about.system for about in abouts],
        [about.backbone for about in abouts],
    )
    return " · ".join("; ".join(dict.fromkeys(part)) for part in told)
