"""How often 95 % intervals hold the truth: data are drawn by dialogue from a population whose figure is known.

Labels have MELD's shares, a forecast is right by label as of a middling, a strong and a weak forecaster. cases are
dialogues x samples of each; samples of a dialogue are alike by an intraclass correlation of 0.3, rare shares by 0.6. A
label that no drawn sample has is no part of F1, nor of its truth. Told are

    before    percentiles for all but shares and Distinct-n, Wilson's with n over the design effect, a jackknife by z
    now       as mmerg.scoring computes it
    withheld  the share of draws of which there is no interval now, which count nowhere else

    python benchmarks/coverage.py --draws 400
"""

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from math import erfc, exp, sqrt
from typing import TypeAlias

import numpy as np
from scipy.special import stdtrit

from benchmarks.parts import options
from mmerg.runs.result import Result
from mmerg.scoring.distinct import Distinct, extract_ngrams
from mmerg.scoring.emotions import f1
from mmerg.scoring.intervals import Dialogues, interval, wilson
from mmerg.scoring.metric import Floats, Indices, IntervalBy, Value, mean, pooled, ratio
from mmerg.scoring.paired import Pairs

RESAMPLES = 500
SHARES = np.array([1256, 402, 345, 281, 208, 68, 50]) / 2610
FORECASTERS = {
    "middling": np.array([0.75, 0.5, 0.4, 0.5, 0.3, 0.1, 0.12]),
    "strong": np.array([0.9, 0.85, 0.8, 0.85, 0.7, 0.6, 0.6]),
    "weak": np.array([0.5, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05]),
}
Z = 1.959964
Ends: TypeAlias = tuple[float, float] | None
Drawn: TypeAlias = tuple[Ends, Ends, float]  # before, now, the truth
Case: TypeAlias = Callable[[np.random.Generator], Drawn]


def cases() -> Iterator[tuple[str, Case]]:
    """Every figure, with the size of the data."""
    for name, right in FORECASTERS.items():
        for count, each in ((24, 1), (31, 1), (100, 1), (268, 1), (30, 5)):
            for weighted in (False, True) if name == "middling" else (False,):
                figure = "weighted_f1" if weighted else "macro_f1"
                yield f"{figure}, {name}, {count} x {each}", partial(of_f1, right, weighted, count, each)
    for share in (0.02, 0.05, 0.5):
        for count, each in ((10, 10), (30, 5), (30, 10), (100, 10)):
            yield f"share of {share:.0%}, {count} x {each}", partial(of_share, share, count, each)
    for count in (10, 30, 100):
        for name in ("likert", "exponential", "lognormal"):
            yield f"mean, {name}, {count} x 1", partial(of_mean, name, count)
        yield f"perplexity, {count} x 2", partial(of_perplexity, count)
        yield f"pooled share of 5%, {count} x 1", partial(of_pooled, count)
        yield f"dist2, {count} x 1", partial(of_distinct, count)
    for count, each in ((30, 1), (100, 1), (30, 5)):
        yield f"difference of acc, {count} x {each}", partial(of_difference, "acc", count, each)
        yield f"difference of macro_f1, {count} x {each}", partial(of_difference, "macro_f1", count, each)
    for seeds in (2, 3, 5):
        yield f"difference of means, {seeds} seeds with luck of their own, 50 x 1", partial(of_seeds, seeds)


def alike(rng: np.random.Generator, count: int, each: int, correlation: float) -> Floats:
    """Uniform numbers, a share sqrt(correlation) of which is one for its whole dialogue."""
    own, shared = rng.random(count * each), np.repeat(rng.random(count), each)
    return np.where(rng.random(count * each) < sqrt(correlation), shared, own)


def forecast(rng: np.random.Generator, gold: Indices, right: Floats, luck: Floats) -> Indices:
    """A label for each gold one: right where luck is below the label's share, else another by MELD's shares."""
    other = (np.cumsum(SHARES)[:, None] < rng.random(len(gold))).sum(axis=0)
    return np.where(luck < right[gold], gold, np.where(other == gold, (gold + 1) % len(SHARES), other))


def true_f1(right: Floats) -> Floats:
    """The F1 of each label in the population, ×100."""
    confused = np.tile(SHARES, (len(SHARES), 1))
    for label in range(len(SHARES)):
        confused[label, (label + 1) % len(SHARES)] += confused[label, label]
        confused[label, label] = 0
    joint = SHARES[:, None] * (np.diag(right) + (1 - right)[:, None] * confused)
    return np.asarray(200 * np.diag(joint) / (joint.sum(axis=0) + joint.sum(axis=1)))


def results(gold: Indices, named: Indices) -> list[Result]:
    return [
        Result.model_construct(id="", status="ok", gold_emotion=str(one), emotion=str(other))
        for one, other in zip(gold, named, strict=True)
    ]


def golds(rng: np.random.Generator, count: int, each: int) -> Indices:
    correlation = 0.3 if each > 1 else 0.0
    return np.asarray((np.cumsum(SHARES)[:-1, None] < alike(rng, count, each, correlation)).sum(axis=0), np.intp)


def of_f1(right: Floats, weighted: bool, count: int, each: int, rng: np.random.Generator) -> Drawn:
    gold = golds(rng, count, each)
    named = forecast(rng, gold, right, alike(rng, count, each, 0.3 if each > 1 else 0.0))
    there = np.unique(gold)
    truth = float(np.average(true_f1(right)[there], weights=SHARES[there] if weighted else None))
    value = f1(weighted=weighted).prepare(results(gold, named))
    return both("bootstrap", value, np.repeat(np.arange(count), each), truth)


def of_share(share: float, count: int, each: int, rng: np.random.Generator) -> Drawn:
    scale = 1 / 0.6 - 1
    own = np.repeat(rng.beta(share * scale, (1 - share) * scale, count), each)
    value = mean(np.asarray(100.0 * (rng.random(count * each) < own), float))
    return both("wilson", value, np.repeat(np.arange(count), each), 100 * share)


def of_mean(name: str, count: int, rng: np.random.Generator) -> Drawn:
    levels = np.array([0.05, 0.1, 0.2, 0.35, 0.3])
    drawn: Floats
    drawn, truth = {
        "likert": (rng.choice(5, size=count, p=levels) + 1.0, float(levels @ np.arange(1, 6))),
        "exponential": (rng.exponential(size=count).astype(float), 1.0),
        "lognormal": (rng.lognormal(size=count), exp(0.5)),
    }[name]
    return both("bootstrap", mean(drawn), np.arange(count), truth)


def of_perplexity(count: int, rng: np.random.Generator) -> Drawn:
    lengths = rng.poisson(10, 2 * count) + 1
    rates = np.repeat(rng.lognormal(-1.0, 0.5, count), 2)
    value = ratio(rng.gamma(lengths, rates), lengths, np.exp)
    return both("bootstrap", value, np.repeat(np.arange(count), 2), exp(exp(-1.0 + 0.125)))


def of_pooled(count: int, rng: np.random.Generator) -> Drawn:
    totals = rng.poisson(8, count) + 1
    hits = rng.binomial(totals, rng.beta(0.05 / 2, 0.95 / 2, count))
    return both("bootstrap", pooled(hits, totals), np.arange(count), 5.0)


def of_distinct(count: int, rng: np.random.Generator) -> Drawn:
    """The truth is the mean over 2,000 such corpora."""
    return both("jackknife", _distinct(rng, count), np.arange(count), _mean_distinct(count))


def _distinct(rng: np.random.Generator, count: int) -> Value:
    weights = 1 / np.arange(1, 501) ** 1.1
    lengths = rng.poisson(9, count) + 2
    words = rng.choice(500, size=lengths.sum(), p=weights / weights.sum()).astype(str)
    texts = [" ".join(part) for part in np.split(words, np.cumsum(lengths)[:-1])]
    return Distinct(extract_ngrams(tuple(texts), "whitespace", 2), np.asarray)


MEANS: dict[int, float] = {}


def _mean_distinct(count: int) -> float:
    if count not in MEANS:
        rng = np.random.default_rng(99)
        MEANS[count] = float(np.mean([_distinct(rng, count)(np.arange(count)) for _ in range(2000)]))
    return MEANS[count]


def of_difference(figure: str, count: int, each: int, rng: np.random.Generator) -> Drawn:
    """The strong forecaster less the middling one; of the same samples both are right or wrong together, by half."""
    gold, shared = golds(rng, count, each), alike(rng, count, each, 0.3 if each > 1 else 0.0)
    own = [np.where(rng.random(len(gold)) < 0.5, shared, rng.random(len(gold))) for _ in range(2)]
    a, b = FORECASTERS["middling"], FORECASTERS["strong"]
    named = [forecast(rng, gold, right, luck) for right, luck in zip((a, b), own, strict=True)]
    there = np.unique(gold)
    dialogues = [str(number) for number in np.repeat(np.arange(count), each)]
    if figure == "acc":
        value: Value = mean(100.0 * np.concatenate([gold == one for one in named]))
        ends = Pairs(value, dialogues).bounds("wilson", RESAMPLES, 0)[0].ends
        return ends, ends, 100 * float(SHARES @ (b - a))
    truth = float(np.mean((true_f1(b) - true_f1(a))[there]))
    pairs = Pairs(f1().prepare(results(np.tile(gold, 2), np.concatenate(named))), dialogues)
    return percentiles(pairs.difference, pairs.dialogues), pairs.bounds("bootstrap", RESAMPLES, 0)[0].ends, truth


def of_seeds(seeds: int, rng: np.random.Generator) -> Drawn:
    """Each seed of each side shifts all of its samples; no true difference."""
    shifts = np.repeat(rng.normal(0, 0.15, 2 * seeds), 50)
    value = mean(np.tile(rng.normal(size=50), 2 * seeds) + rng.normal(0, 0.7, 100 * seeds) + shifts)
    dialogues = [str(number % 50) for number in range(50 * seeds)]
    pairs = Pairs(value, dialogues, seeds)
    return percentiles(pairs.difference, pairs.dialogues), pairs.bounds("bootstrap", RESAMPLES, 0)[0].ends, 0.0


def both(by: IntervalBy, value: Value, names: Indices, truth: float) -> Drawn:
    """The interval as it was before and as it is now."""
    dialogues = Dialogues(names)
    before: Ends
    if by == "wilson":
        right = value.parts[0] / 100  # type: ignore[attr-defined]
        n = dialogues.effective_n(right) if len(dialogues) < len(right) else float(len(right))
        low, high = wilson(float(right.mean()), n)
        before = 100 * low, 100 * high
    elif by == "jackknife":
        every, of = np.arange(len(dialogues)), dialogues.valued(value)
        left_out = np.array([of(np.delete(every, one)) for one in every])
        error = sqrt((len(every) - 1) / len(every) * np.sum((left_out - left_out.mean()) ** 2))
        before = value(dialogues.results) - Z * error, value(dialogues.results) + Z * error
    else:
        before = percentiles(value, dialogues)
    return before, interval(by, value, names, resamples=RESAMPLES, seed=0).ends, truth


def percentiles(value: Value, dialogues: Dialogues) -> Ends:
    """Percentiles of draws, expanded as t is wider than z: what all but shares and Distinct-n had."""
    draw, of, count = np.random.default_rng(0), dialogues.valued(value), len(dialogues)
    values = np.array([of(draw.integers(count, size=count)) for _ in range(RESAMPLES)])
    outside = erfc(float(stdtrit(count - 1, 0.975)) * sqrt(count / (count - 1)) / sqrt(2)) / 2
    low, high = np.quantile(values, [outside, 1 - outside])
    return float(low), float(high)


def main() -> None:
    """Draw all cases, print."""
    given = options(__doc__, draws=200)
    figures = {}
    for name, draw in cases():
        rng = np.random.default_rng(5)
        drawn = [draw(rng) for _ in range(given.draws)]
        kept = [one for one in drawn if one[1]]
        held = [np.mean([one[at][0] <= one[2] <= one[at][1] for one in kept if one[at]]) for at in (0, 1)]  # type: ignore[index]
        figures[name] = [round(one, 3) for one in (*map(float, held), 1 - len(kept) / len(drawn))]
        sys.stdout.write("{}: before {:.3f}, now {:.3f}, withheld {:.3f}\n".format(name, *figures[name]))
        sys.stdout.flush()
    sys.stdout.write(f"{json.dumps({'benchmark': 'coverage', **vars(given), **figures})}\n")


if __name__ == "__main__":
    main()
