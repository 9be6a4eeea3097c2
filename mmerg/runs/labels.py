"""What to call runs that are shown together: as the user called them, else by what tells them apart.

labels([read_about(a), read_about(b)])    # ["qwen3.5-27b seed 0", "qwen3.5-27b seed 1"]
"""

from collections.abc import Sequence

from mmerg.runs.config_diff import config_diff
from mmerg.runs.manifest import About

_ELSEWHERE = ("backbone.", "backend.", "engine.", "dataset.", "system.name", "system.stages.")  # by names, or too long
_LONGEST = 20


def own(about: About) -> str:
    """The user's own name and tags for a run (`name=`, `tags=`), empty where it has none."""
    return " ".join(filter(None, (about.manifest.name, *about.manifest.tags)))


def labels(abouts: Sequence[About]) -> list[str]:
    """A short label for each run, no two alike: the user's own where there is one, else its backbone; with system,
    corpus, settings that differ and at last a number as far as these are needed."""
    given = [own(about) for about in abouts]
    clear = [bool(name) and given.count(name) == 1 for name in given]
    names = [name or about.manifest.backbone for name, about in zip(given, abouts, strict=True)]
    settings = [
        [f"{one.name.rpartition('.')[2]} {value[:_LONGEST]}" for value in one.values]
        for one in config_diff([about.manifest for about in abouts])
        if not one.name.startswith(_ELSEWHERE) and not one.name.endswith((" digest", "commit"))
    ]
    parts = [
        [about.manifest.system for about in abouts],
        [about.manifest.corpus.name for about in abouts],
        *settings,
        [f"({number})" for number, _ in enumerate(abouts, start=1)],
    ]
    for part in parts:
        longer = [name if unique else f"{name} {text}" for name, unique, text in zip(names, clear, part, strict=True)]
        if len(set(longer)) > len(set(names)):
            names = longer
    return names
