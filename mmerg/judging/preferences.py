"""Win, tie and lose of run A against run B, and how far the judge can be trusted: its position bias and agreement.

A pair is shown in both orders, so one repeat gives two verdicts on it. It is won only where both prefer A, lost only
where both prefer B, and a tie in every other case: verdicts that contradict each other say that the order decided.
Over repeats more than half of them must be won (or lost). Every figure is a share in percent: of a sample's cases, then
the mean over samples. Unusable verdicts make no case. A run that gave no reply loses the pair without being judged; a
pair without any reply is a tie.

Whether A is better than B: the margin, the mean of +100 for a pair won, 0 for a tie, -100 for one lost, and by aspect
an exact sign test. Pairs of a dialogue are not independent, so each dialogue has one vote, for the run that won more of
it; a dialogue without a majority has none. p is corrected for all aspects (Holm).

    found = preferences(samples, ["empathy"], signature)
    found["margin"].value, found["win"].value, found["first"].value
    signs(samples, ["empathy", "fluency"])["fluency"].p_holm
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations

from mmerg.judging.figures import mean, share
from mmerg.runs.events import Verdict
from mmerg.runs.result import Verdicts
from mmerg.scoring.score import Score
from mmerg.scoring.shares import holm, mcnemar
from mmerg.storage.record import Record

A, B, TIE = 0, 1, -1
ENDS = {"win": A, "tie": TIE, "lose": B}  # of pairs, by the rule above
_WORTH = {A: 100.0, TIE: 0.0, B: -100.0}
# Of a sample's usable verdicts on one aspect, what the judge said, where it was asked. raw_…: of single verdicts.
# first: of verdicts that are no tie, those for the reply shown first; 50 is no bias. flips: of pairs, those whose two
# orders prefer different runs. agree_orders, agree_repeats: of two verdicts on one pair that differ in nothing but the
# order, or the seed, those that say the same.
FIGURES: dict[str, Callable[[Sequence[Verdict]], list[bool]]] = {
    "raw_win": lambda said: [one.preferred == A for one in said],
    "raw_tie": lambda said: [one.preferred is None for one in said],
    "raw_lose": lambda said: [one.preferred == B for one in said],
    "first": lambda said: [one.choice == "first" for one in said if one.choice != "tie"],
    "flips": lambda said: [{one.preferred, other.preferred} == {A, B} for one, other in _both_orders(said)],
    "agree_orders": lambda said: [one.preferred == other.preferred for one, other in _both_orders(said)],
    "agree_repeats": lambda said: [
        one.choice == other.choice for one, other in combinations(said, 2) if one.order == other.order
    ],
}


def _both_orders(verdicts: Sequence[Verdict]) -> list[tuple[Verdict, Verdict]]:
    """Of each repeat the verdicts with A first and with B first, where both are usable."""
    shown = {(verdict.repeat, verdict.order[0]): verdict for verdict in verdicts}
    return [(shown[repeat, A], shown[repeat, B]) for repeat, first in shown if first == A and (repeat, B) in shown]


def _outcomes(sample: Verdicts, aspects: Sequence[str]) -> list[int]:
    """How the sample ended by aspect, without aspects that have no pair of usable verdicts; once where a run gave no
    reply."""
    if sample.no_reply:
        return [TIE if len(sample.no_reply) > 1 else B if A in sample.no_reply else A]
    ended = []
    for verdicts in _usable(sample, aspects):
        repeats = [one.preferred if one.preferred == other.preferred else None for one, other in _both_orders(verdicts)]
        if repeats:
            ended.append(next((run for run in (A, B) if repeats.count(run) > len(repeats) / 2), TIE))
    return ended


def preferences(samples: Sequence[Verdicts], aspects: Sequence[str], signature: str) -> dict[str, Score]:
    """The figures over `aspects` together, each sample counting once."""
    by_aspect = [_usable(sample, aspects) for sample in samples]
    dialogues = [sample.dialogue for sample in samples]
    outcomes = [_outcomes(sample, aspects) for sample in samples]
    margins = [_margin(ended) for ended in outcomes]
    shares = {name: [share([one == run for one in ended]) for ended in outcomes] for name, run in ENDS.items()} | {
        name: [share([held for verdicts in usable for held in cases(verdicts)]) for usable in by_aspect]
        for name, cases in FIGURES.items()
    }
    return {"margin": mean("margin", margins, dialogues, by="bootstrap", signature=signature)} | {
        name: mean(name, values, dialogues, by="wilson", signature=signature) for name, values in shares.items()
    }


class Sign(Record):
    """The sign test on one aspect. won, lost: dialogues of which A (B) won more pairs. p_holm: corrected for all
    aspects."""

    won: int
    lost: int
    p: float
    p_holm: float


def signs(samples: Sequence[Verdicts], aspects: Sequence[str]) -> dict[str, Sign]:
    """By aspect, how likely chance prefers one run in so many of the dialogues, or more: two-sided, 1 without votes."""
    counted = []
    for aspect in aspects:
        votes: defaultdict[str, float] = defaultdict(float)
        for sample in samples:
            votes[sample.dialogue] += _margin(_outcomes(sample, [aspect])) or 0.0
        counted.append((sum(vote > 0 for vote in votes.values()), sum(vote < 0 for vote in votes.values())))
    ps = [mcnemar(won, lost) for won, lost in counted]  # the same test: a fair coin, thrown once a vote
    return {
        aspect: Sign(won=won, lost=lost, p=p, p_holm=corrected)
        for aspect, (won, lost), p, corrected in zip(aspects, counted, ps, holm(ps), strict=True)
    }


def _margin(outcomes: Sequence[int]) -> float | None:
    """The mean over a sample's aspects of 100 where A won, -100 where B did; None without any."""
    return sum(_WORTH[ended] for ended in outcomes) / len(outcomes) if outcomes else None


def _usable(sample: Verdicts, aspects: Sequence[str]) -> list[list[Verdict]]:
    found: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in sample.verdicts:
        if verdict.usable and verdict.aspect in aspects:
            found[verdict.aspect].append(verdict)
    return list(found.values())
