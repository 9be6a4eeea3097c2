"""Several runs held against a first one, on all figures, with what a reader must be warned of. Runs that differ in
their seeds alone are compared as one setting, unless no other is there.

compared = compared_with([read_run(a)], [[read_run(b)]], Options(resamples=2000))
compared.comparisons[0].difference, compared.warnings
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeAlias

from mmerg.errors import ConfigError, RunError
from mmerg.runs.config_diff import alike_but_for, config_diff
from mmerg.scoring.answers import ScoredRun
from mmerg.scoring.changed import Change, Moved, changes, moved
from mmerg.scoring.comparable import must_compare, must_have_one_target, warnings
from mmerg.scoring.metric import Metric, deciding
from mmerg.scoring.paired import Comparison, Pairing, compare, holm, pair
from mmerg.scoring.power import LEVEL
from mmerg.scoring.standard import Options, standard_metrics
from mmerg.storage.record import Record

Side: TypeAlias = Sequence[ScoredRun]
DRAWS = 2000
PRIMARY = ("acc", "dist2", "bert_f1")  # what is tested unless it was declared otherwise: few, so that p means something


class Differs(Record):
    """A setting that differs between two runs, its values as texts (see `records.differing`)."""

    name: str
    a: str
    b: str


class Pair(Record):
    """Two runs, or two settings with as many seeds: how many samples both finished, how many one of them alone, and in
    which settings they differ."""

    a: str
    b: str
    a_runs: tuple[str, ...]
    b_runs: tuple[str, ...]
    samples: int
    a_alone: int
    b_alone: int
    settings: tuple[Differs, ...] = ()
    forecasts: Moved | None = None


class Compared(Record):
    """Comparisons by figure, then by run, in the order given; the first run is A in all of them."""

    protocol: str
    draws: int
    seed: int
    pairs: tuple[Pair, ...]
    comparisons: tuple[Comparison, ...]
    warnings: tuple[str, ...]
    changes: tuple[Change, ...] = ()


def compared_with(
    first: Sequence[ScoredRun],
    others: Sequence[Sequence[ScoredRun]],
    options: Options,
    begun: Callable[[str], None] | None = None,
) -> Compared:
    """All figures of `options`, whose resamples are the draws; `begun` is told the name of each before it. A side is a
    run, or the seeds of one setting (see `by_setting`). Raises RunError where runs cannot be compared or share no
    sample, ConfigError for an option that means nothing. Only the primary figures have a p, corrected for all of them
    and all sides together."""
    told: dict[str, None] = {}
    baseline = first[0]
    for other in chain(*others):
        must_compare(baseline, other)
        told |= dict.fromkeys(warnings(baseline, other))
    sides = [_as_many(first, other) for other in others]
    for side, (a, b) in zip(others, sides, strict=True):
        told |= dict.fromkeys(_left_out((first, a), (side, b)))
    pairings = [_pairing(a, b) for a, b in sides]
    pairs = [
        Pair(
            a=", ".join(run.name for run in a),
            b=", ".join(run.name for run in b),
            a_runs=tuple(run.name for run in a),
            b_runs=tuple(run.name for run in b),
            samples=found.samples,
            a_alone=found.a_alone,
            b_alone=found.b_alone,
            settings=_settings(a[0], b[0]),
            forecasts=moved(found),
        )
        for (a, b), found in zip(sides, pairings, strict=True)
    ]
    ours = standard_metrics(baseline, options)
    theirs = [standard_metrics(b[0], options) for _, b in sides]
    primary = _primary(ours, options)
    found: list[Comparison] = []
    changed: list[Change] = []
    for place, metric in enumerate(ours):
        if begun:
            begun(metric.name)
        for number, one in enumerate(pairs):
            names, tested = (one.a, one.b), metric.name in primary
            found.append(_compared(metric, theirs[number][place], pairings[number], names, options, tested))
            if tested and found[-1].difference is not None:
                changed += changes(metric, pairings[number], names)
    ps = iter(holm([one.p for one in found if one.p is not None]))
    corrected = [one if one.p is None else one.model_copy(update={"p_holm": next(ps)}) for one in found]
    return Compared(
        protocol=baseline.protocol,
        draws=options.resamples,
        seed=options.seed,
        pairs=tuple(pairs),
        comparisons=tuple(corrected),
        warnings=(*told, *_too_few(corrected), *_dependent(corrected)),
        changes=tuple(changed),
    )


def by_setting(runs: Sequence[ScoredRun]) -> list[list[ScoredRun]]:
    """The runs that differ in their seeds alone together; each by itself where that leaves one setting, or a seed is
    there twice."""
    found: dict[str, list[ScoredRun]] = {}
    for run in sorted(runs, key=_seed):
        found.setdefault(alike_but_for(run.manifest, "seed"), []).append(run)
    seeds = [{_seed(run) for run in group} for group in found.values()]
    whole = all(len(one) == len(group) for one, group in zip(seeds, found.values(), strict=True))
    if len(found) < 2 or not whole:
        return [[run] for run in runs]
    return sorted(found.values(), key=lambda group: min(map(runs.index, group)))


def _seed(run: ScoredRun) -> int:
    return int(run.manifest.setting("seed", 0))


def _as_many(a: Side, b: Side) -> tuple[Side, Side]:
    """As many runs of either side, those of the same seeds where both have some."""
    shared = set(map(_seed, a)) & set(map(_seed, b))
    of_shared = [[run for run in side if _seed(run) in shared] for side in (a, b)]
    most = min(len(a), len(b))
    return (of_shared[0], of_shared[1]) if len(shared) == most else (a[:most], b[:most])


def _left_out(*sides: tuple[Side, Side]) -> list[str]:
    left_out = [run.name for all_of_them, taken in sides for run in all_of_them if run not in taken]
    return [f"not compared, as the other side has fewer seeds: {', '.join(left_out)}"] * bool(left_out)


def _pairing(a: Side, b: Side) -> Pairing:
    found = pair(a, b)
    if not found.a:
        one, other = (", ".join(str(len(run.answers)) for run in side) for side in (a, b))
        raise RunError(
            f"no sample was finished by both runs: {one} by the one, {other} by the other",
            where=" and ".join(str(run.path) for run in (*a, *b)),
            hint="run one of them on the ids of the other: ids=[…]",
        )
    must_have_one_target(found, a[0], b[0])
    return found


def _settings(a: ScoredRun, b: ScoredRun) -> tuple[Differs, ...]:
    found = config_diff([a.manifest, b.manifest])
    return tuple(Differs(name=one.name, a=one.values[0], b=one.values[1]) for one in found)


def _compared(
    metric: Metric, other: Metric, pairing: Pairing, names: tuple[str, str], options: Options, tested: bool
) -> Comparison:
    """One figure of two runs; none where it is measured in another way for each (perplexity under its own model)."""
    if deciding(metric.signature) != deciding(other.signature):
        return Comparison(
            metric=metric.name,
            a=names[0],
            b=names[1],
            n=0,
            dialogues=0,
            left_out=pairing.samples,
            higher_is_better=metric.higher_is_better,
            why=f"not one figure: {metric.signature} and {other.signature}",
        )
    return compare(metric, pairing, draws=options.resamples, seed=options.seed, names=names, tested=tested)


def _primary(metrics: Sequence[Metric], options: Options) -> tuple[str, ...]:
    """The figures to test. Raises ConfigError for a declared one that is not there, or describes and does not judge."""
    known = {metric.name: metric for metric in metrics}
    for name in options.primary:
        if name not in known or known[name].higher_is_better is None:
            judging = ", ".join(metric.name for metric in metrics if metric.higher_is_better is not None)
            what = "it describes a run and does not judge it" if name in known else "there is no such figure"
            raise ConfigError(f"it cannot be tested: {what}", where=f"--primary {name}", hint=f"one of {judging}")
    return options.primary or PRIMARY


def _too_few(found: Sequence[Comparison]) -> list[str]:
    """Differences that are smaller than what so many pairs show, and were not shown."""
    missed: dict[str, list[str]] = {}
    for one in found:
        small = one.difference and (one.detectable is None or abs(one.difference) < one.detectable)
        if small and one.p_holm is not None and one.p_holm >= LEVEL:
            missed.setdefault(one.b, []).append(f"{one.metric} ({one.n})")
    return [
        f"so few pairs cannot show a difference as small as found with {b}: {', '.join(figures)}"
        for b, figures in missed.items()
    ]


def _dependent(found: Sequence[Comparison]) -> list[str]:
    """Shares where dialogues have several samples, which McNemar's test takes as independent."""
    several: dict[tuple[str, int, int], list[str]] = {}
    for one in found:
        if one.p_mcnemar is not None and one.dialogues < one.n:
            told = f"{one.metric} {chance(one.p_mcnemar)}"
            several.setdefault((one.b, one.n, one.dialogues), []).append(told)
    return [
        f"with {b}, {n} pairs are from {dialogues} dialogues, so p is of exchanging whole dialogues; McNemar's, which "
        f"takes pairs as independent, would be: {', '.join(told)}"
        for (b, n, dialogues), told in several.items()
    ]


def how_p(compared: Compared) -> str:
    """How p was had, as `paired` has it: the end of a sentence, without its full stop."""
    tested = list(dict.fromkeys(one.metric for one in compared.comparisons if one.p is not None))
    drawn = f"{compared.draws} draws, seed {compared.seed}, if there are more"
    of = f"of the primary figures alone ({', '.join(tested) or 'none is here'})"
    return f"{of}; McNemar's exact test for shares, else dialogues exchanged in all ways, or in {drawn}"


def chance(p: float | None) -> str:
    """Four decimals."""
    return "–" if p is None else "<0.0001" if p < 0.0001 else f"{p:.4f}"
