"""Comparison of runs with a baseline run on all metrics.

Runs that differ only in their seeds are averaged, unless there is no other setting to compare them with.

report = compare_sides([read_run(a)], [[read_run(b)]], Options(resamples=2000))
report.pairs[0].comparisons[0].difference, report.warnings
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from mmerg.errors import ConfigError, RunError
from mmerg.runs.config_diff import diff_configs
from mmerg.runs.identity import CORPUS
from mmerg.runs.inputs import describe_unequal_inputs, list_inputs
from mmerg.scoring.emotions import BASELINES, describe_baselines
from mmerg.scoring.metric import Metric, drop_recorded
from mmerg.scoring.paired import MetricComparison, PairedResults, compare_metric, pair_results
from mmerg.scoring.run_results import RunResults
from mmerg.scoring.shares import holm
from mmerg.scoring.spread import group_by_setting
from mmerg.scoring.standard import Options, standard_metrics
from mmerg.storage.record import Record

Side: TypeAlias = Sequence[RunResults]
DRAWS = 2000
PRIMARY = ("acc", "dist2", "bert_f1")  # tested by default: only a few, as p is corrected for all of them


class PairComparison(Record):
    """The comparison of two sides: runs, or settings with the same number of seeds."""

    a_runs: tuple[str, ...]
    b_runs: tuple[str, ...]
    samples: int  # that both sides finished
    a_alone: int  # samples that only A finished
    b_alone: int  # samples that only B finished
    settings: dict[str, tuple[str, ...]]  # that differ, each with both values
    comparisons: tuple[MetricComparison, ...]

    @property
    def differences(self) -> list[MetricComparison]:
        """The comparisons with a difference, except those of baselines, which depend on the samples only."""
        return [
            comparison
            for comparison in self.comparisons
            if comparison.difference is not None and comparison.metric not in BASELINES
        ]

    @property
    def baselines(self) -> str:
        """The accuracy of baselines that read no dialogue, on these pairs; "" without accuracy."""
        text = describe_baselines({comparison.metric: comparison.a_value for comparison in self.comparisons})
        return text and f"baselines of acc on these pairs: {text}"


class ComparisonReport(Record):
    """Comparisons of several sides with the first one, which is A in all pairs."""

    protocol: str
    inputs: dict[str, tuple[str, ...]]  # what the agents see, by the name of the run
    unequal: str  # the runs that see inputs that others do not; "" if all see the same
    pairs: tuple[PairComparison, ...]
    warnings: tuple[str, ...]  # on unfinished or excluded runs

    @property
    def tested(self) -> list[str]:
        """The metric of each comparison with a p value."""
        return [comparison.metric for pair in self.pairs for comparison in pair.comparisons if comparison.p is not None]

    def describe_p(self) -> str:
        """Describes how p was computed, without a full stop at the end."""
        metrics = ", ".join(dict.fromkeys(self.tested)) or "none has a score here"
        tests = "McNemar's exact test for shares, else a permutation test of dialogues"
        return f"only for the primary metrics ({metrics}); {tests}"


def compare_sides(first: Side, others: Sequence[Side], options: Options) -> ComparisonReport:
    """Compares each of `others` with `first` on all metrics. Only the primary metrics have a p value, corrected for all
    of them and all sides.

    A side is a run, or the seeds of one setting (see `form_sides`). options: the metrics; `resamples` is the number of
    draws. Raises RunError if runs cannot be compared or have no sample in common, and ConfigError for an invalid
    option.
    """
    baseline, *rest = runs = [*first, *chain(*others)]
    for other in rest:
        check_comparable(baseline, other)
    inputs = [list_inputs(run.manifest, run.results) for run in runs]
    pairs = [_compare_pair(first[: len(other)], other[: len(first)], options) for other in others]
    return ComparisonReport(
        protocol=baseline.manifest.protocol.description,
        inputs={run.run: listed for run, listed in zip(runs, inputs, strict=True)},
        unequal=describe_unequal_inputs(runs, inputs),
        pairs=tuple(_correct(pairs)),
        warnings=tuple(_list_warnings(first, others)),
    )


def form_sides(runs: Sequence[RunResults]) -> list[Side]:
    """Groups runs that differ only in their seeds into sides. If there is only one setting, each run is a side."""
    settings = group_by_setting([run.manifest for run in runs])
    return [[runs[index] for index in indices] for indices in settings] if settings[1:] else [[run] for run in runs]


def check_comparable(a: RunResults, b: RunResults) -> None:
    """Raises RunError if two runs have different corpora, protocols or labels."""
    differences = []
    if a.manifest.identity.get(CORPUS) != b.manifest.identity.get(CORPUS):
        name, other_name = (f"{run.manifest.corpus.name} {run.manifest.corpus.split}" for run in (a, b))
        same = name == other_name
        differences.append(f"the files of {name} differ" if same else f"different corpora ({name} and {other_name})")
    for setting in diff_configs([a.manifest, b.manifest]):
        if setting.name.startswith("protocol."):
            differences.append(f"{setting.name} is {' and '.join(setting.values)}")
    labels, others = (", ".join(sorted(set(run.manifest.corpus.labels))) or "none" for run in (a, b))
    if labels != others:
        differences.append(f"the labels are {labels} and {others}")
    if differences:
        raise RunError(
            f"these runs cannot be compared: {'; '.join(differences)}",
            where=f"{a.path} and {b.path}",
            hint="compare runs of one dataset and protocol; mmerg score RUN RUN prints scores side by side",
        )


def _compare_pair(a: Side, b: Side, options: Options) -> PairComparison:
    """Compares two sides with the same number of runs. Raises RunError if they have no sample in common."""
    pairing = pair_results(a, b)
    if not pairing.a:
        what = "no sample is finished in both runs"
        where = " and ".join(str(run.path) for run in (*a, *b))
        raise RunError(what, where=where, hint="run one of them on the samples of the other: ids=[…]")
    metrics = standard_metrics(a[0].manifest, options)
    others = {metric.name: metric for metric in standard_metrics(b[0].manifest, options)}
    primary = _select_primary(metrics, options)
    return PairComparison(
        a_runs=tuple(run.run for run in a),
        b_runs=tuple(run.run for run in b),
        samples=pairing.samples,
        a_alone=pairing.a_alone,
        b_alone=pairing.b_alone,
        settings={setting.name: setting.values for setting in diff_configs([a[0].manifest, b[0].manifest])},
        comparisons=tuple(
            _compare_metric(metric, others[metric.name], pairing, options, metric.name in primary)
            for metric in metrics
            if metric.name in others
        ),
    )


def _compare_metric(
    metric: Metric, other: Metric, pairing: PairedResults, options: Options, tested: bool
) -> MetricComparison:
    """Compares both sides on a metric. other: the same metric of side B, whose signature may differ."""
    if metric.name in BASELINES:
        metric = replace(metric, interval_by=None)
    a_parts, b_parts = (drop_recorded(side.signature).split("|") for side in (metric, other))
    if a_parts == b_parts:
        return compare_metric(metric, pairing, draws=options.resamples, seed=options.seed, tested=tested)
    a_only = "|".join(part for part in a_parts if part not in b_parts)
    b_only = "|".join(part for part in b_parts if part not in a_parts)
    return MetricComparison(  # such as self_ppl of two models
        metric=metric.name,
        skipped=pairing.samples,
        higher_is_better=metric.higher_is_better,
        why=f"not comparable, the signatures differ: {a_only} and {b_only}",
    )


def _select_primary(metrics: Sequence[Metric], options: Options) -> Sequence[str]:
    """Names the metrics to test. Raises ConfigError if one does not exist, or describes a run without judging it."""
    by_name = {metric.name: metric for metric in metrics}
    for name in options.primary:
        if name not in by_name or by_name[name].higher_is_better is None:
            judging = ", ".join(metric.name for metric in metrics if metric.higher_is_better is not None)
            what = "it describes a run and does not judge it" if name in by_name else "there is no such metric"
            raise ConfigError(f"it cannot be tested: {what}", where=f"--primary {name}", hint=f"one of {judging}")
    return options.primary or PRIMARY


def _correct(pairs: Sequence[PairComparison]) -> list[PairComparison]:
    comparisons = [comparison for pair in pairs for comparison in pair.comparisons]
    corrected = iter(holm([comparison.p for comparison in comparisons if comparison.p is not None]))

    def correct(comparison: MetricComparison) -> MetricComparison:
        return comparison if comparison.p is None else comparison.model_copy(update={"p_holm": next(corrected)})

    return [pair.model_copy(update={"comparisons": tuple(map(correct, pair.comparisons))}) for pair in pairs]


def _list_warnings(first: Side, others: Sequence[Side]) -> Iterator[str]:
    """Yields warnings of unfinished runs, and of runs that are not compared."""
    for run in (*first, *chain(*others)):
        if (missing := run.manifest.protocol.samples - len(run.results)) > 0:
            yield f"{run.run} has no result for {missing} samples of its protocol (not run yet, or excluded by limit)"
    for other in others:
        if skipped := [run.run for run in [*first[len(other) :], *other[len(first) :]]]:
            yield f"not compared, as the other side has fewer seeds: {', '.join(skipped)}"


def format_p(p: float | None) -> str:
    return "–" if p is None else "<0.0001" if p < 0.0001 else f"{p:.4f}"
