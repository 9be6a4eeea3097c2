"""Comparison of two runs by a metric on the samples that both finished: the difference, its interval, and p.

Samples of one dialogue are not independent, so dialogues are drawn, omitted or exchanged as a whole.

difference: B − A with its 95 % interval. For shares this is the interval of Bonett and Price (2012), with the effective
n of `intervals` if dialogues have several samples; the rarer outcome is then that of pairs which differ, or of those
which do not. For all other metrics the interval is computed as in `intervals`.

p: McNemar's exact test for shares with one sample per dialogue, else a permutation test. This exchanges the two runs'
results of dialogues at random: p = (1 + hits) / (1 + draws), where a hit is a difference at least as large as the
observed one, in either direction (Phipson and Smyth 2010, arXiv 1603.05766). If the 2^k possible exchanges of k
dialogues are not more than the draws, all are tried, and p is exact.

detectable: the smallest difference that this number of pairs shows with 80 % power at the 5 % level: 2.8 standard
errors, and by McNemar's test at least 7.8 pairs. It needs 10 dialogues.

With several seeds, a score is the mean over them, and a dialogue is drawn or exchanged with its samples of all seeds.
The variance of the mean over seeds is added to the variance over dialogues. The interval, p and the detectable
difference follow from the sum, with the degrees of freedom of Welch and Satterthwaite.

    pairing = pair_results([read_run(a)], [read_run(b)])
    compare_metric(accuracy(), pairing, draws=2000, seed=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from mmerg.runs.result import Result
from mmerg.scoring.intervals import (
    MIN_RARE,
    ONE_DIALOGUE,
    ROUNDING,
    Dialogues,
    Interval,
    Z,
    evaluate_each,
    resample,
    t_quantile,
)
from mmerg.scoring.metric import MIN_DIALOGUES, Counts, Floats, Indices, IntervalBy, Metric, Sums, Value
from mmerg.scoring.run_results import RunResults, get_dialogue
from mmerg.scoring.shares import bonett_price, mcnemar
from mmerg.storage.record import Record

DETECTABLE = Z + 0.841621  # in standard errors: the normal quantiles of 97.5 % and 80 %
FEWEST_PAIRS = 7.8  # McNemar's test needs 6 pairs that differ; if 7.8 are expected, there are as many in 80 % of draws


@dataclass(frozen=True)
class PairedResults:
    """The results of sides A and B on their common samples, seed by seed, each ordered by sample id."""

    a: tuple[Result, ...]
    b: tuple[Result, ...]
    a_alone: int  # samples that only A finished
    b_alone: int
    seeds: int = 1  # runs per side

    @property
    def samples(self) -> int:
        return len(self.a) // self.seeds

    def mask(self, metric: Metric) -> PairedResults:
        """Selects the samples that count for the metric in all runs."""
        sides = [metric.mask(side).reshape(self.seeds, -1) for side in (self.a, self.b)]
        kept = np.flatnonzero(np.tile(np.all(sides, axis=(0, 1)), self.seeds))
        return replace(self, a=tuple(self.a[place] for place in kept), b=tuple(self.b[place] for place in kept))


class MetricComparison(Record):
    """The comparison of two sides on a metric. Missing values are None, and `why` gives the reason."""

    metric: str
    n: int = 0  # pairs of samples
    skipped: int = 0  # pairs in which a side has no value
    a_value: float | None = None  # with several seeds, the mean
    b_value: float | None = None
    a_sd: float | None = None  # over seeds
    b_sd: float | None = None
    difference: float | None = None  # B − A
    interval: tuple[float, float] | None = None  # of the difference, 95 %, by `method`
    method: str = ""
    p: float | None = None  # by `test`; None if the metric is not tested
    p_holm: float | None = None  # p corrected for all tests of a command
    test: str = ""
    detectable: float | None = None  # the smallest difference that these pairs show (see above)
    higher_is_better: bool | None = None
    signature: str = ""
    why: str = ""


def pair_results(a: Sequence[RunResults], b: Sequence[RunResults]) -> PairedResults:
    """Pairs the results of the samples that all runs finished. Both sides have the same number of runs."""
    a_results, b_results = ([{result.id: result for result in run.results} for run in side] for side in (a, b))
    a_ids, b_ids = (set.intersection(*map(set, side)) for side in (a_results, b_results))
    common = sorted(a_ids & b_ids)
    return PairedResults(
        a=tuple(results[id] for results in a_results for id in common),
        b=tuple(results[id] for results in b_results for id in common),
        a_alone=len(a_ids) - len(common),
        b_alone=len(b_ids) - len(common),
        seeds=len(a),
    )


def compare_metric(
    metric: Metric, pairing: PairedResults, *, draws: int, seed: int, tested: bool = True
) -> MetricComparison:
    """Compares the metric over the pairs in which both samples count. draws, seed: of bootstraps and permutation tests.
    tested: whether to compute p."""
    kept, seeds = pairing.mask(metric), pairing.seeds
    n = kept.samples
    comparison = partial(
        MetricComparison,
        metric=metric.name,
        n=n,
        skipped=pairing.samples - n,
        higher_is_better=metric.higher_is_better,
        signature=metric.signature,
    )
    if not n:
        return comparison(why=f"no pair in which both samples have {metric.needs}")
    value = metric.prepare((*kept.a, *kept.b))
    pairs = PairedValue(value, [get_dialogue(result) for result in kept.a[:n]], seeds)
    if not np.isfinite(pairs.observed):
        return comparison(why="it is not finite over these pairs")
    ends, method, why = pairs.bounds(metric.interval_by, draws, seed)
    p, test = pairs.test(metric.interval_by == "wilson", draws, seed) if tested else (None, "")
    a_value, b_value = map(float, pairs.by_seed.mean(axis=1))
    a_sd, b_sd = map(float, pairs.by_seed.std(axis=1, ddof=1)) if seeds > 1 else (None, None)
    return comparison(
        a_value=a_value,
        b_value=b_value,
        a_sd=a_sd,
        b_sd=b_sd,
        difference=pairs.observed,
        interval=ends,
        method=method,
        why=why,
        p=p,
        test=test,
        detectable=pairs.detectable,
    )


class PairedValue:
    """A value of two sides, and statistics of its difference B − A. value: of one run, for indices into the results of
    A, seed by seed, followed by those of B. names: the dialogue of each sample."""

    def __init__(self, value: Value, names: Sequence[str], seeds: int = 1) -> None:
        self.value, self.seeds = value, seeds
        self.dialogues = Dialogues(names)
        self.samples = self.dialogues.results
        self.starts = len(names) * np.arange(2 * seeds).reshape(2, seeds)  # of the results of each side and seed
        self.by_seed = np.array([[value(self.samples + start) for start in side] for side in self.starts])
        self.independent = seeds == 1 and len(self.dialogues) == len(names)  # each dialogue has one pair
        self.observed = self.difference(self.samples)
        # `bounds` computes these:
        self.widening = 1.0  # of the interval by the variance over seeds
        self.detectable: float | None = None

    def difference(self, samples: Indices, exchanged: bool | NDArray[np.bool_] = False) -> float:
        """Returns B − A over some samples, the mean over seeds. exchanged: which of them exchange A and B."""
        a, b = self.starts[:, :, None]
        a_results, b_results = samples + np.where(exchanged, b, a), samples + np.where(exchanged, a, b)
        return float(np.mean([self.value(results) for results in b_results])) - float(
            np.mean([self.value(results) for results in a_results])
        )

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Shape [2, seeds * samples], of shares: whether each result of A and B is right."""
        return (evaluate_each(self.value, self.starts.size * len(self.samples)) > 0).reshape(2, -1)

    def bounds(self, by: IntervalBy | None, draws: int, seed: int) -> Interval:
        """Returns the interval of the difference. Also computes the detectable difference."""
        if by is None:
            return Interval(None)
        interval, error = self._compare_shares() if by == "wilson" else self._resample(by, draws, seed)
        self.widening = self._compute_widening(error)
        if error and len(self.dialogues) >= MIN_DIALOGUES:
            fewest = 100 * FEWEST_PAIRS / len(self.samples) if by == "wilson" and self.independent else 0.0
            self.detectable = max(DETECTABLE * error * self.widening, fewest)
        if interval.ends and self.widening > 1:
            low, high = (self.observed + self.widening * (end - self.observed) for end in interval.ends)
            interval = Interval((low, high), f"{interval.method}; with the variance of {self.seeds} seeds")
        return interval

    def _compare_shares(self) -> tuple[Interval, float]:
        """Returns the interval of Bonett and Price, and the standard error of the difference."""
        if len(self.dialogues) < 2:
            return Interval(None, why=ONE_DIALOGUE), 0.0
        a, b = self.right
        gaps = b.astype(float) - a
        n, method = float(len(gaps)), "Bonett and Price"
        if not self.independent:
            dialogues = Dialogues(np.tile(self.dialogues.numbers, self.seeds))
            n = dialogues.effective_n(gaps)
            if dialogues.count_rarer(np.abs(gaps)) < MIN_RARE:
                n = min(n, len(dialogues))
            method += f", {self.dialogues.describe_n(n)}"
        low, high = bonett_price(n * float(np.mean(a & ~b)), n * float(np.mean(b & ~a)), n)
        return Interval((100 * low, 100 * high), method), 100 * (high - low) / (2 * Z)

    def _resample(self, by: IntervalBy, draws: int, seed: int) -> tuple[Interval, float]:
        value: Value = self.difference
        if isinstance(self.value, Sums):
            finish, runs = self.value.finish, 2 * self.seeds

            def difference(sums: Floats) -> Floats:
                a, b = np.array([finish(part) for part in np.split(sums, runs)]).reshape(2, self.seeds, -1).mean(axis=1)
                return np.asarray(b - a)

            parts = np.concatenate(np.split(self.value.parts, runs, axis=1))  # [runs * rows, samples]
            blocks = {"blocks": runs} if isinstance(self.value, Counts) else {}
            value = replace(self.value, parts=parts, finish=difference, **blocks)
        return resample(by, value, self.observed, self.dialogues, draws=draws, seed=seed)

    def _compute_widening(self, error: float) -> float:
        """Computes the factor by which the variance over seeds widens an interval. error: standard, over dialogues."""
        if self.seeds == 1 or not error:
            return 1.0
        freedom, seed_freedom = len(self.dialogues) - 1, self.seeds - 1
        seed_error = float(np.diff(self.by_seed, axis=0).std(ddof=1)) / sqrt(self.seeds)
        total_freedom = (error**2 + seed_error**2) ** 2 / (error**4 / freedom + seed_error**4 / seed_freedom)
        wider_error = sqrt(1 + (seed_error / error) ** 2)
        return max(1.0, wider_error * t_quantile(min(total_freedom, freedom)) / t_quantile(freedom))

    def test(self, shares: bool, draws: int, seed: int) -> tuple[float, str]:
        """Returns p and the name of the test: McNemar's for shares of independent pairs, else a permutation test."""
        if shares and self.independent:
            a, b = self.right
            a_alone, b_alone = int(np.sum(a & ~b)), int(np.sum(b & ~a))
            counts = f"b = {a_alone} pairs are right only in A, c = {b_alone} only in B"
            return mcnemar(a_alone, b_alone), f"McNemar, exact: {counts}"
        from scipy.stats import permutation_test

        count = len(self.dialogues)
        if count < 2:
            return 1.0, "permutation of one dialogue"
        threshold = abs(self.observed) / self.widening * (1 - ROUNDING) - ROUNDING

        def is_hit(exchanged: Floats, _: Floats) -> float:
            """Returns 1 if the difference is as large, or NaN, with these dialogues exchanged, else 0."""
            difference = self.difference(self.samples, exchanged[self.dialogues.numbers] > 0)
            return float(not abs(difference) < threshold)

        result = permutation_test(
            (np.zeros(count), np.ones(count)),
            is_hit,
            permutation_type="samples",
            vectorized=False,
            n_resamples=draws,
            batch=100,
            alternative="greater",
            rng=seed,
        )
        exact = count < draws.bit_length()  # 2^count <= draws
        exchanges = f"all {2**count} exchanges of {count} dialogues" if exact else f"{draws} draws, seed {seed}"
        return float(result.pvalue), f"permutation, {exchanges}"
