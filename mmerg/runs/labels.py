"""What to call runs that are shown together: as the user called them, else by what tells them apart.

labels([read_about(a), read_about(b)])    # ["qwen3.5-27b seed 0", "qwen3.5-27b seed 1"]
"""

from collections.abc import Sequence
from itertools import accumulate

from mmerg.runs.config_diff import config_diff
from mmerg.runs.manifest import About

_TOLD = ("backbone.", "backend.", "engine.", "dataset.", "system.name", "system.stages.")  # by names, or too long
_LONGEST = 20


def own(about: About) -> str:
    """The user's own name and tags for a run (`name=`, `tags=`), empty where it has none."""
    return " ".join(filter(None, (about.manifest.name, *about.manifest.tags)))


def labels(abouts: Sequence[About]) -> list[str]:
    """A short label for each run, no two alike: the user's own where there is one, else its backbone; with system,
    corpus, settings that differ and at last a number as far as these are needed."""
    given = [own(about) for about in abouts]
    heads = [name or about.manifest.backbone for name, about in zip(given, abouts, strict=True)]
    clear = [bool(name) and given.count(name) == 1 for name in given]
    for tails in _tails(abouts):
        found = [f"{head}{'' if sure else tail}" for head, sure, tail in zip(heads, clear, tails, strict=True)]
        if len(set(found)) == len(found):
            return found
    raise AssertionError("numbers differ")


def _tails(abouts: Sequence[About]) -> list[list[str]]:
    """What may stand behind a run's own name or backbone, the shortest first."""
    systems = [f" {about.manifest.system}" for about in abouts]
    corpora = [f" {about.manifest.corpus.name}" for about in abouts]
    both = list(map("".join, zip(systems, corpora, strict=True)))
    settings = [
        [f" {one.name.rpartition('.')[2]} {value[:_LONGEST]}" for value in one.values]
        for one in config_diff([about.manifest for about in abouts])
        if not one.name.startswith(_TOLD) and not one.name.endswith((" digest", "commit"))
    ]
    joined = accumulate(settings, lambda some, more: [f"{a}{b}" for a, b in zip(some, more, strict=True)])
    numbers = [f" ({number})" for number in range(1, len(abouts) + 1)]
    return [[""] * len(abouts), systems, corpora, both, *settings, *joined, numbers]
