"""Several runs held against a first one, on all figures, with what a reader must be warned of. Runs that differ in
their seeds alone are compared as one setting, unless no other is there.

compared = compared_with([read_run(a)], [[read_run(b)]], Options(resamples=2000))
compared.comparisons[0].difference, compared.warnings
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeAlias

from mmerg.errors import ConfigError, RunError, by_reason
from mmerg.runs.config_diff import alike_but_for, config_diff
from mmerg.scoring.answers import ScoredRun
from mmerg.scoring.changed import Change, Moved, changes, moved
from mmerg.scoring.comparable import must_compare, must_have_one_target, warnings
from mmerg.scoring.metric import Metric, deciding
from mmerg.scoring.paired import Comparison, Pairing, compare, pair
from mmerg.scoring.shares import LEVEL, holm
from mmerg.scoring.spread import by_seeds, seed_of
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
    first: Side, others: Sequence[Side], options: Options, begun: Callable[[str], None] | None = None
) -> Compared:
    """All figures of `options`, whose resamples are the draws; `begun` is told the name of each before it. A side is a
    run, or the seeds of one setting (see `by_setting`). Raises RunError where runs cannot be compared or share no
    sample, ConfigError for an option that means nothing. Only the primary figures have a p, corrected for all of them
    and all sides together."""
    baseline = first[0]
    told: list[str] = []
    for other in chain(*others):
        must_compare(baseline, other)
        told += warnings(baseline, other)
    sides = [_as_many(first, other) for other in others]
    for side, (a, b) in zip(others, sides, strict=True):
        if left_out := [run.name for run in (*first, *side) if run not in (*a, *b)]:
            told.append(f"not compared, as the other side has fewer seeds: {', '.join(left_out)}")
    pairings = [_pairing(a, b) for a, b in sides]
    pairs = [_described(a, b, found) for (a, b), found in zip(sides, pairings, strict=True)]
    ours = standard_metrics(baseline.manifest.engine, options)
    theirs = [standard_metrics(b[0].manifest.engine, options) for _, b in sides]
    primary = _primary(ours, options)
    found: list[Comparison] = []
    changed: list[Change] = []
    for place, metric in enumerate(ours):
        if begun:
            begun(metric.name)
        tested = metric.name in primary
        for one, pairing, metrics in zip(pairs, pairings, theirs, strict=True):
            names, signature = (one.a, one.b), metrics[place].signature
            if deciding(metric.signature) != deciding(signature):  # perplexity under its own model, say
                why = f"not one figure: {metric.signature} and {signature}"
                bare = {"metric": metric.name, "a": one.a, "b": one.b, "n": 0, "dialogues": 0, "why": why}
                more = {"left_out": pairing.samples, "higher_is_better": metric.higher_is_better}
                found.append(Comparison.model_validate(bare | more))
                continue
            draws, seed = options.resamples, options.seed
            found.append(compare(metric, pairing, draws=draws, seed=seed, names=names, tested=tested))
            if tested and found[-1].difference is not None:
                changed += changes(metric, pairing, names)
    ps = iter(holm([one.p for one in found if one.p is not None]))
    corrected = [one if one.p is None else one.model_copy(update={"p_holm": next(ps)}) for one in found]
    return Compared(
        protocol=baseline.manifest.protocol.description,
        draws=options.resamples,
        seed=options.seed,
        pairs=tuple(pairs),
        comparisons=tuple(corrected),
        warnings=tuple(dict.fromkeys((*told, *_too_few(corrected), *_dependent(corrected)))),
        changes=tuple(changed),
    )


def by_setting(runs: Sequence[ScoredRun]) -> list[Side]:
    """The runs that differ in their seeds alone together; each by itself where that leaves one setting, or a seed is
    there twice."""
    settings = by_seeds([run.manifest for run in runs])
    twice = len({alike_but_for(run.manifest, "seed") for run in runs}) < len(settings)
    if len(settings) < 2 or twice:
        return [[run] for run in runs]
    return [[runs[place] for _, place in sorted(places.items())] for places in settings]


def _as_many(a: Side, b: Side) -> tuple[Side, Side]:
    """As many runs of either side, those of the same seeds where both have some."""
    shared = {seed_of(run.manifest) for run in a} & {seed_of(run.manifest) for run in b}
    of_shared = [[run for run in side if seed_of(run.manifest) in shared] for side in (a, b)]
    most = min(len(a), len(b))
    return (of_shared[0], of_shared[1]) if len(shared) == most else (a[:most], b[:most])


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


def _described(a: Side, b: Side, pairing: Pairing) -> Pair:
    settings = config_diff([a[0].manifest, b[0].manifest])
    a_runs, b_runs = (tuple(run.name for run in side) for side in (a, b))
    return Pair(
        a=", ".join(a_runs),
        b=", ".join(b_runs),
        a_runs=a_runs,
        b_runs=b_runs,
        samples=pairing.samples,
        a_alone=pairing.a_alone,
        b_alone=pairing.b_alone,
        settings=tuple(Differs(name=one.name, a=one.values[0], b=one.values[1]) for one in settings),
        forecasts=moved(pairing),
    )


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
    missed = by_reason(
        (one.b, f"{one.metric} ({one.n})")
        for one in found
        if one.difference and (one.detectable is None or abs(one.difference) < one.detectable)
        if one.p_holm is not None and one.p_holm >= LEVEL
    )
    return [
        f"so few pairs cannot show a difference as small as found with {b}: {figures}" for b, figures in missed.items()
    ]


def _dependent(found: Sequence[Comparison]) -> list[str]:
    """Shares where dialogues have several samples, which McNemar's test takes as independent."""
    several = by_reason(
        ((one.b, one.n, one.dialogues), f"{one.metric} {chance(one.p_mcnemar)}")
        for one in found
        if one.p_mcnemar is not None and one.dialogues < one.n
    )
    return [
        f"with {b}, {n} pairs are from {dialogues} dialogues, so p is of exchanging whole dialogues; McNemar's, which "
        f"takes pairs as independent, would be: {told}"
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
