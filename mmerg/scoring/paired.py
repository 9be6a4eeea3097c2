"""Two runs on the samples that both finished: the difference of a metric, its interval, and p.

Dialogues are drawn, omitted or exchanged whole, since their samples are not independent.

difference: B − A with its 95 % interval. For shares Newcombe's (1998, method 10), with the effective n of `intervals`
if dialogues have several samples; for all else as in `intervals`.
p: for shares McNemar's exact test. For all else, and if dialogues have several samples, a permutation test: the two
runs' results of a dialogue are exchanged or not, p = (1 + hits) / (1 + draws), and a hit is a difference at least as
large in either direction (Phipson and Smyth 2010, arXiv 1603.05766). If k dialogues have at most as many
exchanges, 2^k, as there are draws, all are tried, and p is exact.
detectable: the smallest difference that this many pairs detect with 80 % power at the 5 % level: with McNemar's test at
the observed discordance, or 2.8 standard errors.

With several seeds, a score is the mean over them, and a dialogue is drawn or exchanged with its samples of all seeds.
The variance of the mean over seeds is added to that over dialogues, and the interval, p and detectable follow from the
sum, with Welch's and Satterthwaite's degrees of freedom.

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
from mmerg.scoring.intervals import ONE_DIALOGUE, ROUNDING, Dialogues, Interval, evaluate_each, resample, t_quantile
from mmerg.scoring.metric import Counts, Floats, Indices, IntervalBy, Metric, Sums, Value
from mmerg.scoring.run_results import RunResults, get_dialogue
from mmerg.scoring.shares import DETECTABLE, mcnemar, newcombe, smallest_shift
from mmerg.storage.record import Record


@dataclass(frozen=True)
class PairedResults:
    """The results of both sides on their common samples, ordered by id. a_alone, b_alone: the number of other samples.
    seeds: the number of runs per side, whose results follow each other."""

    a: tuple[Result, ...]
    b: tuple[Result, ...]
    a_alone: int
    b_alone: int
    seeds: int = 1

    @property
    def samples(self) -> int:
        return len(self.a) // self.seeds

    def mask(self, metric: Metric) -> PairedResults:
        """The samples for which all runs have the score."""
        sides = [metric.mask(side).reshape(self.seeds, -1) for side in (self.a, self.b)]
        kept = np.flatnonzero(np.tile(np.all(sides, axis=(0, 1)), self.seeds))
        return replace(self, a=tuple(self.a[place] for place in kept), b=tuple(self.b[place] for place in kept))


class MetricComparison(Record):
    """One metric of two runs, or of two settings with several seeds, whose values are means over seeds and a_sd, b_sd
    standard deviations. n: pairs of samples, from `dialogues` dialogues; left_out: pairs without a value on one side.
    a_right, b_right: of shares, pairs that only A (McNemar's b) or only B (c) has right. p: None if not tested; p_holm:
    corrected for all tests of a command. Missing values are None; `why` gives the reason."""

    metric: str
    n: int = 0
    dialogues: int = 0
    left_out: int = 0
    a_value: float | None = None
    b_value: float | None = None
    a_sd: float | None = None
    b_sd: float | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    method: str = ""
    p: float | None = None
    p_holm: float | None = None
    test: str = ""
    a_right: int | None = None
    b_right: int | None = None
    detectable: float | None = None
    higher_is_better: bool | None = None
    signature: str = ""
    why: str = ""


def pair_results(a: Sequence[RunResults], b: Sequence[RunResults]) -> PairedResults:
    """The samples that all runs finished. Both sides have the same number of runs."""
    of_a, of_b = ([{result.id: result for result in run.results} for run in side] for side in (a, b))
    in_a, in_b = (set.intersection(*map(set, side)) for side in (of_a, of_b))
    common = sorted(in_a & in_b)
    return PairedResults(
        tuple(results[id] for results in of_a for id in common),
        tuple(results[id] for results in of_b for id in common),
        len(in_a) - len(common),
        len(in_b) - len(common),
        len(a),
    )


def compare_metric(
    metric: Metric, pairing: PairedResults, *, draws: int, seed: int, tested: bool = True
) -> MetricComparison:
    """The score of B minus that of A over the pairs with both scores; with p if `tested`."""
    kept, seeds = pairing.mask(metric), pairing.seeds
    n, dialogues = kept.samples, [get_dialogue(result) for result in kept.a]
    comparison = partial(
        MetricComparison,
        metric=metric.name,
        n=n,
        dialogues=len(set(dialogues)),
        left_out=pairing.samples - n,
        higher_is_better=metric.higher_is_better,
        signature=metric.signature,
    )
    if not n:
        return comparison(why=metric.why_none.replace("no sample has", "no pair in which both samples have"))
    value = metric.prepare((*kept.a, *kept.b))
    pairs = PairedValue(value, dialogues, seeds)
    if not np.isfinite(pairs.observed):
        return comparison(why="it is not finite over these pairs")
    shares = metric.interval_by == "wilson"
    a_right, b_right = pairs.right_alone if shares else (None, None)
    (ends, method, why), detectable = pairs.bounds(metric.interval_by, draws, seed)
    p, test = pairs.test(shares, draws, seed) if tested else (None, "")
    a_sd, b_sd = (float(pairs.by_seed(side).std(ddof=1)) if seeds > 1 else None for side in (pairs.a, pairs.b))
    return comparison(
        a_value=pairs.value(pairs.a),
        b_value=pairs.value(pairs.b),
        a_sd=a_sd,
        b_sd=b_sd,
        difference=pairs.observed,
        interval=ends,
        method=method,
        why=why,
        p=p,
        test=test,
        a_right=a_right,
        b_right=b_right,
        detectable=detectable,
    )


class PairedValue:
    """The results of A, seed by seed, then those of B. names: the dialogue of each result of A."""

    def __init__(self, value: Value, names: Sequence[str], seeds: int = 1) -> None:
        self.of_one, self.seeds = value, seeds
        self.dialogues = Dialogues(names)
        self.a = self.dialogues.results
        self.b = self.a + len(names)
        self.independent = len(self.dialogues) == len(names)  # one pair per dialogue
        self.observed = self.difference(self.a)
        self.wider = 1.0

    def value(self, indices: Indices) -> float:
        """The score; with several seeds their mean."""
        if self.seeds == 1:
            return self.of_one(indices)
        seed = indices // (len(self.a) // self.seeds) % self.seeds
        return float(np.mean([self.of_one(indices[seed == one]) for one in range(self.seeds) if (seed == one).any()]))

    def by_seed(self, side: Indices) -> Floats:
        """Shape [seeds]: the score of each seed."""
        return np.array([self.of_one(part) for part in np.split(side, self.seeds)])

    def difference(self, indices: Indices) -> float:
        return self.value(indices + len(self.a)) - self.value(indices)

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Shape [2, n], of shares: the pairs that A and B have right."""
        return (evaluate_each(self.value, 2 * len(self.a)) > 0).reshape(2, len(self.a))

    @property
    def right_alone(self) -> tuple[int, int]:
        """The number of pairs that only A, and only B, has right."""
        return int(np.sum(self.gaps < 0)), int(np.sum(self.gaps > 0))

    @cached_property
    def gaps(self) -> Floats:
        """Shape [n], of shares: 1 where B alone is right, -1 where A alone is."""
        a, b = self.right.astype(float)
        gaps: Floats = b - a
        return gaps

    @cached_property
    def effective_n(self) -> float:
        return float(len(self.a)) if self.independent else self.dialogues.effective_n(self.gaps)

    def bounds(self, by: IntervalBy | None, draws: int, seed: int) -> tuple[Interval, float | None]:
        """The interval of the difference, and the smallest detectable difference."""
        if by is None:
            return Interval(None), None
        if by == "wilson":
            interval, detectable, error = self.newcombe(), self.smallest_shift(), self.share_error
        else:
            interval, error = self._resampled(by, draws, seed)
            detectable = DETECTABLE * error if error else None
        self.wider = self._wider(error)
        if interval.ends and self.wider > 1:
            low, high = (self.observed + self.wider * (end - self.observed) for end in interval.ends)
            interval = Interval((low, high), f"{interval.method}; with the variance of {self.seeds} seeds")
        return interval, detectable and self.wider * detectable

    def _resampled(self, by: IntervalBy, draws: int, seed: int) -> tuple[Interval, float]:
        if not isinstance(self.of_one, Sums):
            return resample(by, self.difference, self.observed, self.dialogues, draws=draws, seed=seed)
        finish, rows = self.of_one.finish, len(self.of_one.parts)
        parts = np.moveaxis(self.of_one.parts.reshape(rows, 2, self.seeds, -1), 0, 2)  # [2, seeds, rows, pairs]

        def difference(sums: Floats) -> Floats:
            a, b = finish(np.moveaxis(sums.reshape(2, self.seeds, rows, *sums.shape[1:]), 2, 0)).mean(axis=1)
            return np.asarray(b - a)

        flat = parts.reshape(2 * self.seeds * rows, -1)
        blocks = {"blocks": 2 * self.seeds} if isinstance(self.of_one, Counts) else {}
        value = replace(self.of_one, parts=flat, finish=difference, **blocks)
        dialogues = Dialogues(self.dialogues.numbers[: flat.shape[1]])
        return resample(by, value, self.observed, dialogues, draws=draws, seed=seed)

    def _wider(self, error: float) -> float:
        """The factor by which the variance over seeds widens an interval. error: the standard error over dialogues."""
        if self.seeds == 1 or not error:
            return 1.0
        own, count = len(self.dialogues) - 1, self.seeds - 1
        seeds = float((self.by_seed(self.b) - self.by_seed(self.a)).std(ddof=1)) / sqrt(self.seeds)
        freedom = (error**2 + seeds**2) ** 2 / (error**4 / own + seeds**4 / count)
        return max(1.0, sqrt(1 + (seeds / error) ** 2) * t_quantile(min(freedom, own)) / t_quantile(own))

    def newcombe(self) -> Interval:
        """The interval of a difference of shares."""
        if len(self.dialogues) < 2:
            return Interval(None, why=ONE_DIALOGUE)
        right_a, right_b = self.right
        counts = [int(np.sum(a & b)) for a in (right_a, ~right_a) for b in (right_b, ~right_b)]
        low, high = newcombe(*(count * self.effective_n / len(self.a) for count in counts))
        method = "Newcombe, method 10" + f", {self.dialogues.describe_n(self.effective_n)}" * (not self.independent)
        return Interval((100 * low, 100 * high), method)

    def smallest_shift(self) -> float | None:
        """The smallest detectable difference of shares."""
        if len(self.dialogues) < 2:
            return None
        if self.independent:
            shift = smallest_shift(len(self.a), sum(self.right_alone) / len(self.a))
            return None if shift is None else 100 * shift
        return DETECTABLE * self.share_error if self.share_error > ROUNDING else None

    @property
    def share_error(self) -> float:
        """The standard error of a difference of shares, 0 for one dialogue."""
        if len(self.dialogues) < 2:
            return 0.0
        return 100 * float(self.gaps.std()) / sqrt(self.effective_n)

    def test(self, shares: bool, draws: int, seed: int) -> tuple[float, str]:
        """p and its method: McNemar's test for shares of independent pairs, else a permutation test."""
        if shares and self.independent:
            return mcnemar(*self.right_alone), "McNemar, exact"
        from scipy.stats import permutation_test

        count, n = len(self.dialogues), len(self.a)
        if count < 2:
            return 1.0, "permutation of one dialogue"
        enough = abs(self.observed) / self.wider * (1 - ROUNDING) - ROUNDING

        def hit(exchanged: Floats, _: Floats) -> float:
            """1 if the difference is as large, or NaN, with these dialogues exchanged."""
            shift = np.where(exchanged[self.dialogues.numbers], n, 0)
            return float(not abs(self.value(self.b - shift) - self.value(self.a + shift)) < enough)

        tested = permutation_test(
            (np.zeros(count), np.ones(count)),
            hit,
            permutation_type="samples",
            vectorized=False,
            n_resamples=draws,
            batch=100,
            alternative="greater",
            rng=seed,
        )
        every = count < draws.bit_length()  # 2^count <= draws
        ways = f"all {2**count} exchanges of {count} dialogues" if every else f"{draws} draws, seed {seed}"
        return float(tested.pvalue), f"permutation, {ways}"
