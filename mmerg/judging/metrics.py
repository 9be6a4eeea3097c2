"""Scores over verdicts. Each is a mean over samples, with an interval by dialogue.

Shares are in percent and get Wilson's interval, with n samples however many verdicts each has: wider than need be
rather than too narrow, and with a width even where all verdicts are alike. Ratings and margins get a bootstrap.
Unusable verdicts count nowhere. A run that gave no reply has the lowest rating and loses its pair without being judged:
else a run gained by failing where replies are hard.

A pair is shown in both orders. It is won only where both prefer A, lost only where both prefer B, and else a tie:
verdicts that contradict each other say that the order decided. Over repeats more than half must be won (or lost)."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np

from mmerg.judging.schemas import LEVELS
from mmerg.runs.events import Verdict
from mmerg.runs.result import Verdicts
from mmerg.scoring import metric
from mmerg.scoring.metric import IntervalBy
from mmerg.scoring.score import Score
from mmerg.scoring.shares import holm, mcnemar
from mmerg.storage.record import Record

A, B = 0, 1
ENDS = {"win": 1, "tie": 0, "lose": -1}
# By metric the cases of a sample's usable verdicts on one aspect. first: of verdicts that are no tie, those for the
# reply shown first; 50 % is no bias. flips: of pairs, those whose two orders prefer different runs. agree_…: of two
# verdicts on a pair that differ in nothing but the order, or the seed, those that say the same.
METRICS: dict[str, Callable[[Sequence[Verdict]], list[bool]]] = {
    "first": lambda verdicts: [one.choice == "first" for one in verdicts if one.choice != "tie"],
    "flips": lambda verdicts: [{one.preferred, other.preferred} == {A, B} for one, other in _both_orders(verdicts)],
    "agree_orders": lambda verdicts: [one.preferred == other.preferred for one, other in _both_orders(verdicts)],
    "agree_repeats": lambda verdicts: [
        one.choice == other.choice for one, other in combinations(verdicts, 2) if one.order == other.order
    ],
}


def mean(
    name: str,
    cases: Sequence[Sequence[float]],
    dialogues: Sequence[str],
    by: IntervalBy,
    signature: str,
    higher_is_better: bool | None = None,
) -> Score:
    """The mean over samples of the mean of each one's cases; a sample without cases does not count. dialogues: where
    each sample is from."""
    kept = [(fmean(of_one), dialogue) for of_one, dialogue in zip(cases, dialogues, strict=True) if of_one]
    why = "no sample has verdicts for it"
    score = Score(name=name, value=None, n=0, higher_is_better=higher_is_better, signature=signature, why=why)
    if not kept:
        return score
    values = np.array([value for value, _ in kept])
    score = score.over(metric.mean(values), [dialogue for _, dialogue in kept], by)
    if score.method and by == "wilson" and not set(values.tolist()) <= {0.0, 100.0}:
        return score.model_copy(update={"method": f"{score.method}, a sample's share of several cases as one case"})
    return score


def ratings(samples: Sequence[Verdicts], aspects: Sequence[str], signature: str) -> dict[str, Score]:
    """Mean ratings by aspect, 1 to 5, higher is better; a sample's rating is the mean over its repeats."""
    dialogues = [sample.dialogue for sample in samples]
    cases = {aspect: [_ratings(sample, aspect) for sample in samples] for aspect in aspects}
    return {
        aspect: mean(aspect, of_aspect, dialogues, "bootstrap", signature, higher_is_better=True)
        for aspect, of_aspect in cases.items()
    }


def _ratings(sample: Verdicts, aspect: str) -> list[int]:
    given = [one.score for one in sample.verdicts if one.aspect == aspect and one.score is not None]
    return [LEVELS[0]] if sample.no_reply else given


def preferences(samples: Sequence[Verdicts], aspects: Sequence[str], signature: str) -> dict[str, Score]:
    """The scores over `aspects` together, each sample counting once. win, tie, lose: of pairs; margin: pairs won less
    pairs lost; the others: see `METRICS`."""
    dialogues = [sample.dialogue for sample in samples]
    ended = [list(outcomes(sample, aspects)) for sample in samples]
    usable = [list(_usable(sample, aspects)) for sample in samples]
    margins = [[100.0 * one for one in of_one] for of_one in ended]
    shares = {name: [[one == end for one in of_one] for of_one in ended] for name, end in ENDS.items()}
    for name, cases_of in METRICS.items():
        shares[name] = [[case for verdicts in of_one for case in cases_of(verdicts)] for of_one in usable]
    scores = {"margin": mean("margin", margins, dialogues, "bootstrap", signature)}
    for name, cases in shares.items():
        percent = [[100.0 * one for one in of_one] for of_one in cases]
        scores[name] = mean(name, percent, dialogues, "wilson", signature)
    return scores


def outcomes(sample: Verdicts, aspects: Sequence[str]) -> Iterator[int]:
    """How the pair ended in each aspect that has usable verdicts; once where a run gave no reply."""
    if sample.no_reply:
        yield (B in sample.no_reply) - (A in sample.no_reply)
        return
    for verdicts in _usable(sample, aspects):
        pairs = [one.preferred if one.preferred == other.preferred else None for one, other in _both_orders(verdicts)]
        if pairs:
            yield (2 * pairs.count(A) > len(pairs)) - (2 * pairs.count(B) > len(pairs))


def _both_orders(verdicts: Sequence[Verdict]) -> list[tuple[Verdict, Verdict]]:
    """Of each repeat the verdicts with A first and with B first, where both are usable."""
    by_first = {(verdict.repeat, verdict.order[0]): verdict for verdict in verdicts}
    repeats = [repeat for repeat, first in by_first if first == A and (repeat, B) in by_first]
    return [(by_first[repeat, A], by_first[repeat, B]) for repeat in repeats]


def _usable(sample: Verdicts, aspects: Sequence[str]) -> Iterator[list[Verdict]]:
    """The usable verdicts on each aspect that has some."""
    for aspect in aspects:
        if usable := [verdict for verdict in sample.verdicts if verdict.usable and verdict.aspect == aspect]:
            yield usable


class Sign(Record):
    """The sign test on one aspect. won, lost: dialogues of which A (B) won more pairs. p_holm: corrected for all
    aspects."""

    won: int
    lost: int
    p: float
    p_holm: float


def signs(samples: Sequence[Verdicts], aspects: Sequence[str]) -> dict[str, Sign]:
    """By aspect, how likely chance prefers one run in so many of the dialogues, or more: two-sided, 1 without votes.
    Pairs of a dialogue are not independent, so each dialogue has one vote, for the run that won more of it."""
    counted = []
    for aspect in aspects:
        votes: Counter[str] = Counter()
        for sample in samples:
            votes[sample.dialogue] += sum(outcomes(sample, [aspect]))
        counted.append((sum(vote > 0 for vote in votes.values()), sum(vote < 0 for vote in votes.values())))
    ps = [mcnemar(won, lost) for won, lost in counted]  # the same test: a fair coin, thrown once a vote
    return {
        aspect: Sign(won=won, lost=lost, p=p, p_holm=corrected)
        for aspect, (won, lost), p, corrected in zip(aspects, counted, ps, holm(ps), strict=True)
    }
