"""Compares several runs with a first one on all metrics. Runs that differ only in their seeds are one setting, unless
there is no other setting.

compared = compare_sides([read_run(a)], [[read_run(b)]], Options(resamples=2000))
compared.pairs[0].comparisons[0].difference, compared.warnings
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from mmerg.errors import ConfigError, RunError, preview
from mmerg.runs.config_diff import diff_configs, grouping_key
from mmerg.runs.inputs import describe_unequal_inputs, list_inputs
from mmerg.scoring.emotions import BASELINES
from mmerg.scoring.metric import Metric, drop_recorded
from mmerg.scoring.paired import MetricComparison, PairedResults, compare_metric, pair_results
from mmerg.scoring.run_results import RunResults, describe_without_logprobs, without_usable_logprobs
from mmerg.scoring.shares import holm
from mmerg.scoring.spread import get_seed, group_by_setting
from mmerg.scoring.standard import Options, standard_metrics
from mmerg.storage.record import Record

Side: TypeAlias = Sequence[RunResults]
DRAWS = 2000
PRIMARY = ("acc", "dist2", "bert_f1")  # tested by default: few metrics, as p is corrected for all of them


class PairComparison(Record):
    """Two runs, or two settings with equally many seeds. samples: those that both finished; a_alone, b_alone: those
    that only one of them finished. settings: the differing ones, with both values."""

    a_runs: tuple[str, ...]
    b_runs: tuple[str, ...]
    samples: int
    a_alone: int
    b_alone: int
    settings: dict[str, tuple[str, ...]]
    comparisons: tuple[MetricComparison, ...]

    @property
    def a(self) -> str:
        return ", ".join(self.a_runs)

    @property
    def b(self) -> str:
        return ", ".join(self.b_runs)

    @property
    def differences(self) -> list[MetricComparison]:
        """The scores of both sides, without baselines, which depend on the samples and not on the runs."""
        return [one for one in self.comparisons if one.difference is not None and one.metric not in BASELINES]

    @property
    def baselines(self) -> str:
        """The accuracies of baselines that read no dialogue, on these pairs; "" without accuracy."""
        values = {one.metric: one.a_value for one in self.comparisons}
        parts = [f"{words} {value:.2f}" for name, words in BASELINES.items() if (value := values.get(name)) is not None]
        return f"baselines of acc on these pairs: {', '.join(parts)}" if parts else ""


class ComparisonReport(Record):
    """The first run, or setting, is A in all pairs. inputs: of each run's agents. unequal: which runs see inputs that
    others do not, "" if all see the same."""

    protocol: str
    inputs: dict[str, tuple[str, ...]]
    unequal: str
    draws: int
    seed: int
    pairs: tuple[PairComparison, ...]
    warnings: tuple[str, ...]

    @property
    def tested(self) -> list[str]:
        """The metric of each comparison that has a p."""
        return [one.metric for pair in self.pairs for one in pair.comparisons if one.p is not None]

    def describe_p(self) -> str:
        """How p was computed: the end of a sentence, without full stop."""
        drawn = f"{self.draws} draws, seed {self.seed}, if there are more"
        of = f"of the primary metrics alone ({', '.join(dict.fromkeys(self.tested)) or 'none is here'})"
        return f"{of}; McNemar's exact test for shares, else dialogues exchanged in all ways, or in {drawn}"


def compare_sides(first: Side, others: Sequence[Side], options: Options) -> ComparisonReport:
    """All metrics of `options`; its `resamples` are the draws. A side is a run, or the seeds of one setting (see
    `form_sides`). Raises RunError if runs cannot be compared or share no sample, ConfigError for an invalid option.
    Only the primary metrics have a p, corrected over all of them and all sides."""
    baseline = first[0]
    for other in (*first[1:], *chain(*others)):
        check_comparable(baseline, other)
    sides = [_same_seeds(first, other) for other in others]
    pairings = [_pairing(a, b) for a, b in sides]
    pairs = _corrected([_pair(a, b, pairing, options) for (a, b), pairing in zip(sides, pairings, strict=True)])
    return ComparisonReport(
        protocol=baseline.manifest.protocol.description,
        inputs={run.run: list_inputs(run.manifest) for run in (*first, *chain(*others))},
        unequal=describe_unequal_inputs((*first, *chain(*others))),
        draws=options.resamples,
        seed=options.seed,
        pairs=tuple(pairs),
        warnings=tuple(_warnings(first, others, sides)),
    )


def form_sides(runs: Sequence[RunResults]) -> list[Side]:
    """Groups runs that differ only in their seeds. Each run is a side by itself if there is only one setting, or a
    setting has a seed twice."""
    settings = group_by_setting([run.manifest for run in runs])
    if 1 < len(settings) == len({grouping_key(run.manifest, "seed") for run in runs}):
        return [sorted((runs[place] for place in places), key=_seed) for places in settings]
    return [[run] for run in runs]


def check_comparable(a: RunResults, b: RunResults) -> None:
    """Raises RunError if two runs had different tasks: another corpus or protocol, or other labels."""
    differences = []
    files, other_files = (run.manifest.identity.get("corpus") for run in (a, b))
    if not files or not other_files:
        differences.append("a manifest does not identify its corpus files (identity.corpus)")
    elif files != other_files:
        one, other = (f"{run.manifest.corpus.name} {run.manifest.corpus.split}" for run in (a, b))
        differences.append(f"different corpora ({one} and {other})" if one != other else f"the files of {one} differ")
    settings = diff_configs([a.manifest, b.manifest])
    differences += [f"{one.name} is {' and '.join(one.values)}" for one in settings if one.name.startswith("protocol.")]
    labels, others = (", ".join(sorted(set(run.manifest.corpus.labels))) or "none" for run in (a, b))
    if labels != others:
        differences.append(f"the labels are {labels} and {others}")
    if differences:
        raise RunError(
            f"these runs cannot be compared: {'; '.join(differences)}",
            where=f"{a.path} and {b.path}",
            hint="compare runs of one dataset and protocol; mmerg score RUN RUN prints scores side by side",
        )


def _seed(run: RunResults) -> int:
    return get_seed(run.manifest)


def _same_seeds(a: Side, b: Side) -> tuple[Side, Side]:
    """Equally many runs of either side: those of common seeds, or the first ones if these are more."""
    most, shared = min(len(a), len(b)), set(map(_seed, a)) & set(map(_seed, b))
    if len(shared) < most:
        return a[:most], b[:most]
    return [run for run in a if _seed(run) in shared], [run for run in b if _seed(run) in shared]


def _pairing(a: Side, b: Side) -> PairedResults:
    """Raises RunError if no sample was finished by both, or one has two gold labels or responses."""
    pairing, where = pair_results(a, b), " and ".join(str(run.path) for run in (*a, *b))
    if not pairing.a:
        counts = [", ".join(str(len(run.results)) for run in side) for side in (a, b)]
        what = f"both runs finished no sample in common; A finished {counts[0]} samples, B {counts[1]}"
        raise RunError(what, where=where, hint="run one of them on the samples of the other: ids=[…]")
    both = zip(pairing.a, pairing.b, strict=True)
    if apart := [a.id for a, b in both if (a.gold_emotion, a.gold_response) != (b.gold_emotion, b.gold_response)]:
        samples = f"{len(apart)} of {len(pairing.a)} samples: {preview(apart)}"
        what = f"the runs disagree on gold labels or replies in {samples}"
        raise RunError(what, where=where, hint="run one of them again: its calls come from the reply cache")
    return pairing


def _pair(a: Side, b: Side, pairing: PairedResults, options: Options) -> PairComparison:
    metrics, others = (standard_metrics(side[0].manifest, options) for side in (a, b))
    primary = _primary(metrics, options)
    return PairComparison(
        a_runs=tuple(run.run for run in a),
        b_runs=tuple(run.run for run in b),
        samples=pairing.samples,
        a_alone=pairing.a_alone,
        b_alone=pairing.b_alone,
        settings={one.name: one.values for one in diff_configs([a[0].manifest, b[0].manifest])},
        comparisons=tuple(
            _comparison(metric, other, pairing, options, metric.name in primary)
            for metric, other in zip(metrics, others, strict=True)
        ),
    )


def _comparison(
    metric: Metric, other: Metric, pairing: PairedResults, options: Options, tested: bool
) -> MetricComparison:
    if metric.name in BASELINES:
        metric = replace(metric, interval_by=None)
    sides = [drop_recorded(one.signature).split("|") for one in (metric, other)]
    if sides[0] == sides[1]:
        return compare_metric(metric, pairing, draws=options.resamples, seed=options.seed, tested=tested)
    a, b = ("|".join(part for part in one if part not in two) for one, two in (sides, reversed(sides)))
    return MetricComparison(  # such as self_ppl of two models
        metric=metric.name,
        left_out=pairing.samples,
        higher_is_better=metric.higher_is_better,
        why=f"not comparable, the signatures differ: {a} and {b}",
    )


def _primary(metrics: Sequence[Metric], options: Options) -> Sequence[str]:
    """The metrics to test. Raises ConfigError for an unknown one, or one that describes a run and does not judge it."""
    known = {metric.name: metric for metric in metrics}
    for name in options.primary:
        if name not in known or known[name].higher_is_better is None:
            judging = ", ".join(metric.name for metric in metrics if metric.higher_is_better is not None)
            what = "it describes a run and does not judge it" if name in known else "there is no such metric"
            raise ConfigError(f"it cannot be tested: {what}", where=f"--primary {name}", hint=f"one of {judging}")
    return options.primary or PRIMARY


def _corrected(pairs: Sequence[PairComparison]) -> list[PairComparison]:
    """The comparisons with p_holm."""
    ps = iter(holm([one.p for pair in pairs for one in pair.comparisons if one.p is not None]))

    def correct(one: MetricComparison) -> MetricComparison:
        return one if one.p is None else one.model_copy(update={"p_holm": next(ps)})

    return [pair.model_copy(update={"comparisons": tuple(map(correct, pair.comparisons))}) for pair in pairs]


def _warnings(first: Side, others: Sequence[Side], sides: Sequence[tuple[Side, Side]]) -> Iterator[str]:
    """Warns of unfinished or skipped runs. sides: the compared runs of `first` and of each other side."""
    for run in (*first, *chain(*others)):
        if without := describe_without_logprobs(without_usable_logprobs(run.results)):
            yield f"{run.run}: {without}"
        if (missing := run.manifest.protocol.samples - len(run.results)) > 0:
            yield f"{run.run} has no result for {missing} samples of its protocol (not run yet, or excluded by limit)"
    for other, (a, b) in zip(others, sides, strict=True):
        if skipped := [run.run for run in (*first, *other) if run not in (*a, *b)]:
            yield f"not compared, as the other side has fewer seeds: {', '.join(skipped)}"


def format_p(p: float | None) -> str:
    """Four decimals."""
    return "–" if p is None else "<0.0001" if p < 0.0001 else f"{p:.4f}"
