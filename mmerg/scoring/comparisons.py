"""Several runs held against a first one, on all figures, with what a reader must be warned of.

compared = compared_with(read_run(a), [read_run(b)], Options(resamples=2000))
compared.comparisons[0].difference, compared.warnings
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mmerg.errors import ConfigError, RunError
from mmerg.runs.config_diff import config_diff
from mmerg.scoring.answers import ScoredRun
from mmerg.scoring.comparable import must_compare, must_have_one_target, warnings
from mmerg.scoring.metric import Metric, deciding
from mmerg.scoring.moved import Moved, moved
from mmerg.scoring.paired import Comparison, Pairing, compare, holm, pair
from mmerg.scoring.power import LEVEL
from mmerg.scoring.standard import Options, standard_metrics
from mmerg.storage.record import Record

DRAWS = 2000
PRIMARY = ("acc", "dist2", "bert_f1")  # what is tested unless it was declared otherwise: few, so that p means something


class Differs(Record):
    """A setting that differs between two runs, its values as texts (see `records.differing`)."""

    name: str
    a: str
    b: str


class Pair(Record):
    """Two runs: how many samples both finished, how many one of them alone, and in which settings they differ."""

    a: str
    b: str
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


def compared_with(
    baseline: ScoredRun,
    others: Sequence[ScoredRun],
    options: Options,
    begun: Callable[[str], None] | None = None,
) -> Compared:
    """All figures of `options`, whose resamples are the draws; `begun` is told the name of each before it. Raises
    RunError where runs cannot be compared or share no sample, ConfigError for an option that means nothing. Only the
    primary figures have a p, corrected for all of them and all runs together."""
    told: dict[str, None] = {}
    for other in others:
        must_compare(baseline, other)
        told |= dict.fromkeys(warnings(baseline, other))
    pairings = [_pairing(baseline, other) for other in others]
    pairs = [
        Pair(
            a=baseline.name,
            b=other.name,
            samples=len(found.a),
            a_alone=found.a_alone,
            b_alone=found.b_alone,
            settings=_settings(baseline, other),
            forecasts=moved(found),
        )
        for other, found in zip(others, pairings, strict=True)
    ]
    ours = standard_metrics(baseline, options)
    theirs = [standard_metrics(other, options) for other in others]
    primary = _primary(ours, options)
    found = []
    for place, metric in enumerate(ours):
        if begun:
            begun(metric.name)
        for number, other in enumerate(others):
            names = (baseline.name, other.name)
            tested = metric.name in primary
            found.append(_compared(metric, theirs[number][place], pairings[number], names, options, tested))
    ps = iter(holm([one.p for one in found if one.p is not None]))
    corrected = [one if one.p is None else one.model_copy(update={"p_holm": next(ps)}) for one in found]
    return Compared(
        protocol=baseline.protocol,
        draws=options.resamples,
        seed=options.seed,
        pairs=tuple(pairs),
        comparisons=tuple(corrected),
        warnings=(*told, *_too_few(corrected), *_dependent(corrected)),
    )


def _pairing(a: ScoredRun, b: ScoredRun) -> Pairing:
    found = pair(a, b)
    if not found.a:
        raise RunError(
            f"no sample was finished by both runs: {len(a.answers)} by the one, {len(b.answers)} by the other",
            where=f"{a.path} and {b.path}",
            hint="run one of them on the ids of the other: ids=[…]",
        )
    must_have_one_target(found, a, b)
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
            left_out=len(pairing.a),
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
