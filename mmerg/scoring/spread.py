"""Mean and standard deviation of scores over runs that differ only in their seed.

The standard deviation (with n − 1) is the variation by sampling tokens; the interval of each run's score is that by
sampling dialogues. Neither contains the other.
"""

from collections.abc import Sequence
from statistics import fmean, stdev

from mmerg.runs.config_diff import grouping_key
from mmerg.runs.manifest import Manifest
from mmerg.scoring.metric import drop_recorded
from mmerg.scoring.score import Score


class Spread(Score):
    """A score over seeds: value is the mean, sd the standard deviation (with n − 1), n counts seeds."""

    value: float
    sd: float


def get_seed(manifest: Manifest) -> int:
    return int(manifest.setting("seed", 0))


def group_by_setting(manifests: Sequence[Manifest]) -> list[list[int]]:
    """The indices of runs, grouped by setting. A run whose seed is already in its group starts a new group."""
    by_setting: dict[str, list[int]] = {}
    for place, manifest in enumerate(manifests):
        setting = grouping_key(manifest, "seed")
        if get_seed(manifest) in [get_seed(manifests[other]) for other in by_setting.get(setting, ())]:
            setting += str(place)
        by_setting.setdefault(setting, []).append(place)
    return list(by_setting.values())


def average_over_seeds(scores: Sequence[Score | None]) -> Spread | None:
    """The mean over two or more seeds; None unless all have a value, the same n and the same signature."""
    there = [score for score in scores if score]
    values = [score.value for score in there if score.value is not None]
    if not 1 < len(values) == len(scores) or len({(score.n, drop_recorded(score.signature)) for score in there}) > 1:
        return None
    first, n = there[0], len(values)
    mean, sd = fmean(values), stdev(values)
    return Spread(name=first.name, value=mean, sd=sd, n=n, method="mean over seeds", signature=first.signature)
