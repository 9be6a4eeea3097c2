"""Measures how often 95 % intervals contain the true value, on data drawn by dialogue from a known population.

The labels have MELD's frequencies. The accuracy per label is that of a middling, a strong or a weak forecaster. The
size of a case is dialogues x samples per dialogue. Samples of a dialogue have an intraclass correlation of 0.3, or 0.6
for shares. A label that no drawn sample has counts neither in F1 nor in its true value. The results are the coverage

    before    by earlier methods: Wilson for shares (n over the design effect), a normal jackknife for Distinct-n,
              percentiles for the rest
    now       as mmerg.scoring computes intervals
    withheld  the share of draws without an interval now; the coverage excludes them

    python benchmarks/coverage.py --draws 400
"""

import json
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from math import erfc, exp, sqrt
from typing import TypeAlias

import numpy as np
from scipy.special import stdtrit

from benchmarks.parts import parse_options
from mmerg.runs.result import Result
from mmerg.scoring.distinct import distinct
from mmerg.scoring.emotions import f1
from mmerg.scoring.intervals import Dialogues, compute_interval, wilson
from mmerg.scoring.metric import Floats, Indices, IntervalBy, Sums, Value, mean, pooled_percentage, ratio
from mmerg.scoring.paired import PairedValue
from mmerg.scoring.reference import compute_bleu

RESAMPLES = 500
SHARES = np.array([1256, 402, 345, 281, 208, 68, 50]) / 2610
FORECASTERS = {
    "middling": np.array([0.75, 0.5, 0.4, 0.5, 0.3, 0.1, 0.12]),
    "strong": np.array([0.9, 0.85, 0.8, 0.85, 0.7, 0.6, 0.6]),
    "weak": np.array([0.5, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05]),
}
Z = 1.959964
Ends: TypeAlias = tuple[float, float] | None
Draw: TypeAlias = tuple[Ends, Ends, float]  # interval before, interval now, true value
Case: TypeAlias = Callable[[np.random.Generator], Draw]


def cases() -> Iterator[tuple[str, Case]]:
    """Yields each metric and size of the data, with a function that draws data and computes intervals."""
    for name, right in FORECASTERS.items():
        for count, each in ((24, 1), (31, 1), (100, 1), (268, 1), (30, 5)):
            for weighted in (False, True) if name == "middling" else (False,):
                metric = "weighted_f1" if weighted else "macro_f1"
                yield f"{metric}, {name}, {count} x {each}", partial(draw_f1, right, weighted, count, each)
    for share in (0.02, 0.05, 0.5):
        for count, each in ((10, 10), (30, 5), (30, 10), (100, 10)):
            yield f"share of {share:.0%}, {count} x {each}", partial(draw_share, share, count, each)
    for count in (10, 30, 100):
        for name in ("likert", "exponential", "lognormal"):
            yield f"mean, {name}, {count} x 1", partial(draw_mean, name, count)
        yield f"perplexity, {count} x 2", partial(draw_perplexity, count)
        yield f"pooled share of 5%, {count} x 1", partial(draw_pooled_share, count)
        yield f"dist2, {count} x 1", partial(draw_distinct, count)
    yield "bleu, 100 x 1", partial(draw_bleu, 100)
    for count, each in ((30, 1), (100, 1), (30, 5)):
        yield f"difference of acc, {count} x {each}", partial(draw_difference, "acc", count, each)
        yield f"difference of macro_f1, {count} x {each}", partial(draw_difference, "macro_f1", count, each)
    for seeds in (2, 3, 5):
        yield f"difference of means, {seeds} lucky seeds, 50 x 1", partial(draw_seeds, seeds)


def draw_correlated(rng: np.random.Generator, count: int, each: int, correlation: float) -> Floats:
    """Draws uniform numbers, shape [count * each], of which a share sqrt(correlation) is the number of the dialogue."""
    own, shared = rng.random(count * each), np.repeat(rng.random(count), each)
    return np.where(rng.random(count * each) < sqrt(correlation), shared, own)


def draw_forecasts(rng: np.random.Generator, gold: Indices, right: Floats, luck: Floats) -> Indices:
    """Draws a forecast per gold label: this label if `luck` is below its accuracy, else one by MELD's frequencies."""
    other = (np.cumsum(SHARES)[:, None] < rng.random(len(gold))).sum(axis=0)
    return np.where(luck < right[gold], gold, np.where(other == gold, (gold + 1) % len(SHARES), other))


def compute_true_f1(right: Floats) -> Floats:
    """Computes the F1 of each label in the population, ×100."""
    confused = np.tile(SHARES, (len(SHARES), 1))
    for label in range(len(SHARES)):
        confused[label, (label + 1) % len(SHARES)] += confused[label, label]
        confused[label, label] = 0
    joint = SHARES[:, None] * (np.diag(right) + (1 - right)[:, None] * confused)
    return np.asarray(200 * np.diag(joint) / (joint.sum(axis=0) + joint.sum(axis=1)))


def build_results(gold: Indices, forecasts: Indices) -> list[Result]:
    return [
        Result.model_construct(id="", status="ok", gold_emotion=str(label), emotion=str(forecast))
        for label, forecast in zip(gold, forecasts, strict=True)
    ]


def draw_gold(rng: np.random.Generator, count: int, each: int) -> Indices:
    correlation = 0.3 if each > 1 else 0.0
    return np.asarray(
        (np.cumsum(SHARES)[:-1, None] < draw_correlated(rng, count, each, correlation)).sum(axis=0), np.intp
    )


def draw_f1(right: Floats, weighted: bool, count: int, each: int, rng: np.random.Generator) -> Draw:
    gold = draw_gold(rng, count, each)
    forecasts = draw_forecasts(rng, gold, right, draw_correlated(rng, count, each, 0.3 if each > 1 else 0.0))
    labels = np.unique(gold)
    truth = float(np.average(compute_true_f1(right)[labels], weights=SHARES[labels] if weighted else None))
    value = f1(weighted=weighted).prepare(build_results(gold, forecasts))
    return compute_both("bootstrap", value, np.repeat(np.arange(count), each), truth)


def draw_share(share: float, count: int, each: int, rng: np.random.Generator) -> Draw:
    scale = 1 / 0.6 - 1
    own = np.repeat(rng.beta(share * scale, (1 - share) * scale, count), each)
    value = mean(np.asarray(100.0 * (rng.random(count * each) < own), float))
    return compute_both("wilson", value, np.repeat(np.arange(count), each), 100 * share)


def draw_mean(name: str, count: int, rng: np.random.Generator) -> Draw:
    levels = np.array([0.05, 0.1, 0.2, 0.35, 0.3])
    values: Floats
    values, truth = {
        "likert": (rng.choice(5, size=count, p=levels) + 1.0, float(levels @ np.arange(1, 6))),
        "exponential": (rng.exponential(size=count).astype(float), 1.0),
        "lognormal": (rng.lognormal(size=count), exp(0.5)),
    }[name]
    return compute_both("bootstrap", mean(values), np.arange(count), truth)


def draw_perplexity(count: int, rng: np.random.Generator) -> Draw:
    lengths = rng.poisson(10, 2 * count) + 1
    rates = np.repeat(rng.lognormal(-1.0, 0.5, count), 2)
    value = ratio(rng.gamma(lengths, rates), lengths, np.exp)
    return compute_both("bootstrap", value, np.repeat(np.arange(count), 2), exp(exp(-1.0 + 0.125)))


def draw_pooled_share(count: int, rng: np.random.Generator) -> Draw:
    totals = rng.poisson(8, count) + 1
    hits = rng.binomial(totals, rng.beta(0.05 / 2, 0.95 / 2, count))
    return compute_both("bootstrap", pooled_percentage(hits, totals), np.arange(count), 5.0)


def draw_bleu(count: int, rng: np.random.Generator) -> Draw:
    """Draws for BLEU, whose true value is the mean over 2,000 corpora of this size."""
    return compute_both("bootstrap", Sums(_draw_matches(rng, count), compute_bleu), np.arange(count), _mean_bleu(count))


@cache
def _mean_bleu(count: int) -> float:
    rng = np.random.default_rng(99)
    return float(np.mean([compute_bleu(_draw_matches(rng, count).sum(axis=1)) for _ in range(2000)]))


def _draw_matches(rng: np.random.Generator, count: int) -> Floats:
    """Draws the terms of BLEU's sums for pairs of 12 words. A share of words is equal, in most pairs a small one."""
    equal = rng.random((count, 12)) < rng.beta(0.3, 1.2, (count, 1))
    hits = [np.all([equal[:, start : 12 - n + start + 1] for start in range(n)], axis=0).sum(1) for n in range(1, 5)]
    return np.array([*hits, *np.multiply.outer([12, 11, 10, 9, 12, 12], np.ones(count))])


def draw_distinct(count: int, rng: np.random.Generator) -> Draw:
    """Draws for Distinct-n, whose true value is the mean over 2,000 corpora of this size."""
    return compute_both("jackknife", _draw_replies(rng, count), np.arange(count), _mean_distinct(count))


def _draw_replies(rng: np.random.Generator, count: int) -> Value:
    weights = 1 / np.arange(1, 501) ** 1.1
    lengths = rng.poisson(9, count) + 2
    words = rng.choice(500, size=lengths.sum(), p=weights / weights.sum()).astype(str)
    texts = [" ".join(part) for part in np.split(words, np.cumsum(lengths)[:-1])]
    return distinct(2, "whitespace").prepare([Result.model_construct(id="", response=text) for text in texts])


@cache
def _mean_distinct(count: int) -> float:
    rng = np.random.default_rng(99)
    return float(np.mean([_draw_replies(rng, count)(np.arange(count)) for _ in range(2000)]))


def draw_difference(metric: str, count: int, each: int, rng: np.random.Generator) -> Draw:
    """Draws for the strong forecaster minus the middling one. Each draws its luck from a shared list with probability
    0.5, so that both are often right or wrong on the same samples."""
    gold, shared = draw_gold(rng, count, each), draw_correlated(rng, count, each, 0.3 if each > 1 else 0.0)
    lucks = [np.where(rng.random(len(gold)) < 0.5, shared, rng.random(len(gold))) for _ in range(2)]
    a, b = FORECASTERS["middling"], FORECASTERS["strong"]
    forecasts = [draw_forecasts(rng, gold, right, luck) for right, luck in zip((a, b), lucks, strict=True)]
    dialogues = [str(number) for number in np.repeat(np.arange(count), each)]
    if metric == "acc":
        value: Value = mean(100.0 * np.concatenate([gold == labels for labels in forecasts]))
        ends = PairedValue(value, dialogues).bounds("wilson", RESAMPLES, 0).ends
        return ends, ends, 100 * float(SHARES @ (b - a))
    truth = float(np.mean((compute_true_f1(b) - compute_true_f1(a))[np.unique(gold)]))
    pairs = PairedValue(f1().prepare(build_results(np.tile(gold, 2), np.concatenate(forecasts))), dialogues)
    return (
        compute_percentiles(pairs.difference, pairs.dialogues),
        pairs.bounds("bootstrap", RESAMPLES, 0).ends,
        truth,
    )


def draw_seeds(seeds: int, rng: np.random.Generator) -> Draw:
    """Draws for several seeds. Each of them shifts all samples of a side; the true difference is 0."""
    shifts = np.repeat(rng.normal(0, 0.15, 2 * seeds), 50)
    value = mean(np.tile(rng.normal(size=50), 2 * seeds) + rng.normal(0, 0.7, 100 * seeds) + shifts)
    dialogues = list(map(str, range(50)))
    pairs = PairedValue(value, dialogues, seeds)
    return compute_percentiles(pairs.difference, pairs.dialogues), pairs.bounds("bootstrap", RESAMPLES, 0).ends, 0.0


def compute_both(by: IntervalBy, value: Value, names: Indices, truth: float) -> Draw:
    """Computes the interval by the earlier method and by the current one. names: the dialogue of each sample."""
    dialogues = Dialogues(names)
    before: Ends
    if by == "wilson":
        right = value.parts[0] / 100  # type: ignore[attr-defined]
        n = dialogues.effective_n(right) if len(dialogues) < len(right) else float(len(right))
        low, high = wilson(float(right.mean()), n)
        before = 100 * low, 100 * high
    elif by == "jackknife":
        count = len(dialogues)
        without_one = np.array([value(np.flatnonzero(dialogues.numbers != number)) for number in range(count)])
        error = sqrt((count - 1) / count * np.sum((without_one - without_one.mean()) ** 2))
        before = value(dialogues.results) - Z * error, value(dialogues.results) + Z * error
    else:
        before = compute_percentiles(value, dialogues)
    return before, compute_interval(by, value, names, resamples=RESAMPLES, seed=0).ends, truth


def compute_percentiles(value: Value, dialogues: Dialogues) -> Ends:
    """Computes the percentile interval of bootstrap draws, expanded as Student's t is wider than the normal
    distribution. All metrics except shares and Distinct-n had it before."""
    count = len(dialogues)
    members = [np.flatnonzero(dialogues.numbers == number) for number in range(count)]
    draws = np.random.default_rng(0).integers(count, size=(RESAMPLES, count))
    values = np.array([value(np.concatenate([members[number] for number in drawn])) for drawn in draws])
    outside = erfc(float(stdtrit(count - 1, 0.975)) * sqrt(count / (count - 1)) / sqrt(2)) / 2
    low, high = np.quantile(values, [outside, 1 - outside])
    return float(low), float(high)


def main() -> None:
    options = parse_options(__doc__, draws=200)
    results = {}
    for name, draw in cases():
        rng = np.random.default_rng(5)
        draws = [draw(rng) for _ in range(options.draws)]
        kept = [(before, now, truth) for before, now, truth in draws if now]
        before_share = np.mean([before[0] <= truth <= before[1] for before, _, truth in kept if before])
        now_share = np.mean([now[0] <= truth <= now[1] for _, now, truth in kept])
        shares = (float(before_share), float(now_share), 1 - len(kept) / len(draws))
        results[name] = [round(share, 3) for share in shares]
        sys.stdout.write("{}: before {:.3f}, now {:.3f}, withheld {:.3f}\n".format(name, *results[name]))
        sys.stdout.flush()
    sys.stdout.write(f"{json.dumps({'benchmark': 'coverage', **vars(options), **results})}\n")


if __name__ == "__main__":
    main()
