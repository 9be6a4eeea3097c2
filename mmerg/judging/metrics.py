"""Scores over verdicts. Each is a mean over samples, with an interval over dialogues.

Shares are in percent with Wilson's interval. Its n is the number of samples, however many verdicts each has, so that it
is too wide rather than too narrow. Ratings and margins get a bootstrap. Unusable verdicts count nowhere. A failed
sample has the lowest rating, or loses its pair, without being judged; otherwise a run would gain by failing where
replies are hard.

A pair is shown in both orders. A run wins it if both orders prefer that run; if they contradict each other, the order
decided, and the pair is a tie. Over repeats, more than half must be won."""

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
# By metric, the cases among a sample's usable verdicts on one aspect. first: verdicts for the reply shown first, of
# those that are not a tie; 50 % is no bias. flips: pairs whose two orders prefer different runs. agree_…: equal
# verdicts on a pair, of two that differ only in the order or the seed.
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
    """The mean over samples of the mean of their cases; samples without cases do not count. dialogues: of each
    sample."""
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

    def rate(sample: Verdicts, aspect: str) -> list[int]:
        given = [one.score for one in sample.verdicts if one.aspect == aspect and one.score is not None]
        return [LEVELS[0]] if sample.no_reply else given

    return {
        aspect: mean(
            aspect, [rate(one, aspect) for one in samples], dialogues, "bootstrap", signature, higher_is_better=True
        )
        for aspect in aspects
    }


def preferences(samples: Sequence[Verdicts], aspects: Sequence[str], signature: str) -> dict[str, Score]:
    """The scores over `aspects` together; each sample counts once. win, tie, lose: of pairs; margin: pairs won minus
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
    """The outcome of the pair in each aspect with usable verdicts: 1 won, 0 tie, -1 lost. One outcome if a run gave no
    reply."""
    if sample.no_reply:
        yield (B in sample.no_reply) - (A in sample.no_reply)
        return
    for verdicts in _usable(sample, aspects):
        pairs = [one.preferred if one.preferred == other.preferred else None for one, other in _both_orders(verdicts)]
        if pairs:
            yield (2 * pairs.count(A) > len(pairs)) - (2 * pairs.count(B) > len(pairs))


def _both_orders(verdicts: Sequence[Verdict]) -> list[tuple[Verdict, Verdict]]:
    """The verdicts of each repeat with A first and with B first, if both are usable."""
    by_first = {(verdict.repeat, verdict.order[0]): verdict for verdict in verdicts}
    repeats = [repeat for repeat, first in by_first if first == A and (repeat, B) in by_first]
    return [(by_first[repeat, A], by_first[repeat, B]) for repeat in repeats]


def _usable(sample: Verdicts, aspects: Sequence[str]) -> Iterator[list[Verdict]]:
    """The usable verdicts on each aspect."""
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
    """An exact, two-sided sign test by aspect; p is 1 without votes. Pairs of a dialogue are not independent, so each
    dialogue has one vote, for the run that won more of its pairs."""
    counted = []
    for aspect in aspects:
        votes: Counter[str] = Counter()
        for sample in samples:
            votes[sample.dialogue] += sum(outcomes(sample, [aspect]))
        counted.append((sum(vote > 0 for vote in votes.values()), sum(vote < 0 for vote in votes.values())))
    ps = [mcnemar(won, lost) for won, lost in counted]  # the same binomial test
    return {
        aspect: Sign(won=won, lost=lost, p=p, p_holm=corrected)
        for aspect, (won, lost), p, corrected in zip(aspects, counted, ps, holm(ps), strict=True)
    }
