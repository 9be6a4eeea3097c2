"""Mean and standard deviation of scores over runs that differ only in their seed.

The standard deviation (with n − 1) shows the variation from sampling tokens. The interval of a run's score shows the
variation from sampling dialogues. Neither contains the other.
"""

from collections.abc import Sequence
from statistics import fmean, stdev

from mmerg.runs.config_diff import grouping_key
from mmerg.runs.manifest import Manifest
from mmerg.scoring.metric import drop_recorded
from mmerg.scoring.score import Score


class Spread(Score):
    """A score over seeds: `value` is the mean, `sd` the standard deviation (with n − 1), `n` the number of seeds."""

    value: float
    sd: float


def group_by_setting(manifests: Sequence[Manifest]) -> list[list[int]]:
    """Groups runs by setting. Returns the indices of the runs in each group, in the order of seeds. A run whose
    seed is already in its group starts a new group."""
    by_setting: dict[str, dict[int, int]] = {}  # the index by seed
    for index, manifest in enumerate(manifests):
        setting, seed = grouping_key(manifest, "seed"), int(manifest.setting("seed", 0))
        if seed in by_setting.get(setting, ()):
            setting += str(index)
        by_setting.setdefault(setting, {})[seed] = index
    return [[indices[seed] for seed in sorted(indices)] for indices in by_setting.values()]


def average_over_seeds(scores: Sequence[Score | None]) -> Spread | None:
    """Averages the scores of two or more seeds. Returns None unless all have a value, the same n and comparable
    signatures."""
    present = [score for score in scores if score]
    values = [score.value for score in present if score.value is not None]
    if len(values) < 2 or len(values) < len(scores):
        return None
    if len({(score.n, drop_recorded(score.signature)) for score in present}) > 1:
        return None
    return Spread(
        name=present[0].name,
        value=fmean(values),
        sd=stdev(values),
        n=len(values),
        method="mean over seeds",
        signature=present[0].signature,
    )
