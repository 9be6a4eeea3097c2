"""Scores over verdicts. Each is a mean over samples, with an interval over dialogues.

Shares are in percent with Wilson's interval. Its n is the number of samples, however many verdicts each has, so the
interval is too wide rather than too narrow. Ratings and margins have a bootstrap interval. Unusable verdicts are
ignored. A failed sample gets the lowest rating, or loses its pair, without being judged; otherwise a run would gain by
failing where replies are hard.

Each pair is shown in both orders. A run wins it if both orders prefer that run. If they contradict each other, the
order decided, and the pair is a tie. Over repeats, a run must win more than half."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
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


def _prefers_first(verdicts: Sequence[Verdict]) -> list[bool]:
    """Returns for each verdict except ties whether it prefers the reply shown first. 50 % means no bias."""
    return [verdict.choice == "first" for verdict in verdicts if verdict.choice != "tie"]


def agree_orders(verdicts: Sequence[Verdict]) -> list[bool]:
    """Returns for each pair whether its two orders give the same verdict."""
    return [a_first.preferred == b_first.preferred for a_first, b_first in _pair_orders(verdicts)]


def _agree_repeats(verdicts: Sequence[Verdict]) -> list[bool]:
    """Returns for each two verdicts that differ only in the seed whether they are the same."""
    pairs = combinations(verdicts, 2)
    return [verdict.choice == other.choice for verdict, other in pairs if verdict.order == other.order]


# The consistency of the judge: from the usable verdicts on one sample and aspect to the cases of each metric.
CONSISTENCY: dict[str, Callable[[Sequence[Verdict]], list[bool]]] = {
    "first": _prefers_first,
    "agree_orders": agree_orders,
    "agree_repeats": _agree_repeats,
}


def score_ratings(samples: Sequence[Verdicts], aspects: Sequence[str], signature: str) -> dict[str, Score]:
    """Scores mean ratings by aspect, from 1 to 5, higher is better. A sample's rating is the mean over its repeats."""
    dialogues = [sample.dialogue for sample in samples]
    scores = {}
    for aspect in aspects:
        ratings = [_list_ratings(sample, aspect) for sample in samples]
        scores[aspect] = _score_mean(aspect, ratings, dialogues, "bootstrap", signature, LEVELS, True)
    return scores


def _list_ratings(sample: Verdicts, aspect: str) -> list[int]:
    if sample.no_reply:
        return [LEVELS[0]]
    scores = (verdict.score for verdict in sample.verdicts if verdict.aspect == aspect)
    return [score for score in scores if score is not None]


def score_preferences(samples: Sequence[Verdicts], aspects: Sequence[str], signature: str) -> dict[str, Score]:
    """Scores all `aspects` together; each sample has the same weight. win, tie, lose: shares of pairs. margin: pairs
    won minus pairs lost. The others: see `CONSISTENCY`."""
    dialogues = [sample.dialogue for sample in samples]
    outcomes = [list(find_outcomes(sample, aspects)) for sample in samples]
    usable = [list(_group_usable(sample, aspects)) for sample in samples]
    margins = [[100.0 * outcome for outcome in sample_outcomes] for sample_outcomes in outcomes]
    scores = {"margin": _score_mean("margin", margins, dialogues, "bootstrap", signature, (-100, 100))}
    shares = {
        name: [[outcome == end for outcome in sample_outcomes] for sample_outcomes in outcomes]
        for name, end in ENDS.items()
    }
    for name, find_cases in CONSISTENCY.items():
        shares[name] = [[case for verdicts in by_aspect for case in find_cases(verdicts)] for by_aspect in usable]
    for name, cases in shares.items():
        percent = [[100.0 * case for case in sample_cases] for sample_cases in cases]
        scores[name] = _score_mean(name, percent, dialogues, "wilson", signature)
    return scores


def _score_mean(
    name: str,
    cases: Sequence[Sequence[float]],
    dialogues: Sequence[str],
    by: IntervalBy,
    signature: str,
    ends: Sequence[int] = (0, 100),
    higher_is_better: bool | None = None,
) -> Score:
    """Scores the mean over samples of the mean of their cases. Skips samples without cases. dialogues: by sample. ends:
    the first is the least possible value, the last the greatest."""
    means = [
        (fmean(sample_cases), dialogue) for sample_cases, dialogue in zip(cases, dialogues, strict=True) if sample_cases
    ]
    why = "no sample has verdicts for it"
    score = Score(name=name, value=None, n=0, higher_is_better=higher_is_better, signature=signature, why=why)
    if not means:
        return score
    values = np.array([value for value, _ in means])
    mean = replace(metric.mean(values), low=ends[0], high=ends[-1])
    score = score.evaluate(mean, [dialogue for _, dialogue in means], by)
    if score.method and by == "wilson" and not set(values.tolist()) <= {0.0, 100.0}:
        return score.model_copy(update={"method": f"{score.method}, a sample's share of several cases as one case"})
    return score


def find_outcomes(sample: Verdicts, aspects: Sequence[str]) -> Iterator[int]:
    """Yields the outcome of the pair in each aspect with usable verdicts: 1 if A won, 0 for a tie, -1 if A lost. There
    is only one outcome if a run gave no reply."""
    if sample.no_reply:
        yield (B in sample.no_reply) - (A in sample.no_reply)
        return
    for verdicts in _group_usable(sample, aspects):
        pairs = [
            a_first.preferred if a_first.preferred == b_first.preferred else None
            for a_first, b_first in _pair_orders(verdicts)
        ]
        if pairs:
            yield (2 * pairs.count(A) > len(pairs)) - (2 * pairs.count(B) > len(pairs))


def _pair_orders(verdicts: Sequence[Verdict]) -> list[tuple[Verdict, Verdict]]:
    """Returns the verdicts of each repeat with A shown first and with B shown first, if both are usable."""
    by_first = {(verdict.repeat, verdict.order[0]): verdict for verdict in verdicts}
    repeats = [repeat for repeat, first in by_first if first == A and (repeat, B) in by_first]
    return [(by_first[repeat, A], by_first[repeat, B]) for repeat in repeats]


def _group_usable(sample: Verdicts, aspects: Sequence[str]) -> Iterator[list[Verdict]]:
    """Yields the usable verdicts on each aspect that has some."""
    for aspect in aspects:
        if usable := [verdict for verdict in sample.verdicts if verdict.usable and verdict.aspect == aspect]:
            yield usable


class SignTest(Record):
    """The sign test on one aspect."""

    won: int  # dialogues of which A won more pairs
    lost: int  # dialogues of which B won more pairs
    p: float
    p_holm: float  # p, corrected for all aspects


def run_sign_tests(samples: Sequence[Verdicts], aspects: Sequence[str]) -> dict[str, SignTest]:
    """Runs an exact, two-sided sign test by aspect; p is 1 without votes. Pairs of a dialogue are not independent, so
    each dialogue has one vote, for the run that won more of its pairs."""
    counts = []
    for aspect in aspects:
        votes: Counter[str] = Counter()
        for sample in samples:
            votes[sample.dialogue] += sum(find_outcomes(sample, [aspect]))
        counts.append((sum(vote > 0 for vote in votes.values()), sum(vote < 0 for vote in votes.values())))
    ps = [mcnemar(won, lost) for won, lost in counts]  # the same binomial test
    return {
        aspect: SignTest(won=won, lost=lost, p=p, p_holm=corrected)
        for aspect, (won, lost), p, corrected in zip(aspects, counts, ps, holm(ps), strict=True)
    }
