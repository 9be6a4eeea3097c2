"""Runs that differ in their seed alone, and a figure over them: its mean and its standard deviation, where it may be
averaged.

The standard deviation (with n − 1) says how much the sampler's luck moves a figure; the interval over samples, which
stands beside each run, says how much the choice of samples does. Neither holds the other.

    over([run.scores["acc"] for run in one_a_seed(runs, lambda run: run.seed)])
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import fmean, stdev
from typing import TypeVar

from mmerg.runs.config_diff import alike_but_for
from mmerg.runs.manifest import Manifest
from mmerg.scoring.metric import deciding
from mmerg.scoring.score import Score

Run = TypeVar("Run")


class Spread(Score):
    """A figure over seeds: value is the mean, sd the standard deviation (with n − 1), n counts seeds."""

    value: float
    sd: float


def seed_of(manifest: Manifest) -> int:
    return int(manifest.setting("seed", 0))


def by_seeds(manifests: Sequence[Manifest]) -> list[dict[int, int]]:
    """The runs by setting, of each the place by seed; a run whose seed its setting has already is one by itself."""
    found: dict[tuple[str, int], dict[int, int]] = {}
    for place, manifest in enumerate(manifests):
        alike, seed = alike_but_for(manifest, "seed"), seed_of(manifest)
        again = seed in found.get((alike, 0), ())
        found.setdefault((alike, place * again), {})[seed] = place
    return list(found.values())


def one_a_seed(runs: Iterable[Run], seed: Callable[[Run], int]) -> list[Run]:
    """The first run of each seed: one that is there twice counts once."""
    found: dict[int, Run] = {}
    for run in runs:
        found.setdefault(seed(run), run)
    return list(found.values())


def over(scores: Sequence[Score | None]) -> Spread | None:
    """Over a score a seed; None unless all have a value, over as many samples and with one signature."""
    had = [score for score in scores if score]
    spread = spread_of(
        [score.value if score else None for score in scores], ((s.n, deciding(s.signature)) for s in had)
    )
    return spread and spread.model_copy(update={"name": had[0].name, "signature": had[0].signature})


def spread_of(values: Sequence[float | None], measured: Iterable[Hashable] = ()) -> Spread | None:
    """Over a value a seed, two at least; None unless all are there and `measured`, how each was had, are equal."""
    had = [value for value in values if value is not None]
    if not len(values) == len(had) > 1 or len(set(measured)) > 1:
        return None
    return Spread(name="", value=fmean(had), sd=stdev(had), n=len(had), method="mean over seeds")
