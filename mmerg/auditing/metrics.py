"""How well scores separate clean from faulty outputs.

AUC: the share of pairs of a clean and a faulty output in which the clean one has the higher score; ties count half.
Intervals come from a bootstrap over dialogues; if all draws are equal, from Wilson's method for that many dialogues. An
unreadable check counts against the auditor: it passes no clean output and detects no fault.
"""

from collections.abc import Iterable, Sequence
from math import inf

import numpy as np

from mmerg.auditing.faults import HUMAN, WRONG, Case
from mmerg.scoring.intervals import compute_tail, wilson
from mmerg.scoring.metric import Floats, Mask
from mmerg.scoring.score import DRAWS
from mmerg.settings.model import Form
from mmerg.systems.audit import Measure

BINS = 10  # of the calibration error
SPECIFICITY = 0.9  # thresholds are fitted for this
Scored = list[tuple[float, str]]  # each output's score and dialogue


def collect_scores(cases: Iterable[Case], form: Form, unread: float) -> Scored:
    """unread: the score of a check that cannot be read."""
    known = [(case.scores[form], case.dialogue) for case in cases if form in case.scores]
    return [(unread if score is None else score, dialogue) for score, dialogue in known]


def sides(cases: Sequence[Case], stage: str, form: Form, kind: str) -> tuple[Scored, Scored]:
    """The clean outputs of a stage and the faulty ones of a kind."""
    cases = [case for case in cases if case.stage == stage]
    clean, faulty = ([case for case in cases if case.fault == fault] for fault in ("", kind))
    if kind == WRONG:
        clean, faulty = ([case for case in clean if case.right is right] for right in (True, False))
    elif kind == HUMAN:
        clean, faulty = faulty, clean
    return collect_scores(clean, form, -inf), collect_scores(faulty, form, inf)


def auc(clean: Scored, faulty: Scored, seed: int = 0) -> Measure | None:
    """None if one side is empty."""
    if not clean or not faulty:
        return None
    names = sorted({dialogue for _, dialogue in (*clean, *faulty)})
    places = {name: place for place, name in enumerate(names)}
    (ours, rows), (theirs, columns) = (
        (np.array([score for score, _ in side]), [places[dialogue] for _, dialogue in side]) for side in (clean, faulty)
    )
    wins = np.zeros((len(names), len(names)))
    above, equal = ours[:, None] > theirs[None, :], ours[:, None] == theirs[None, :]
    np.add.at(wins, np.ix_(rows, columns), above + 0.5 * equal)
    counts = [np.bincount(side, minlength=len(names)) for side in (rows, columns)]
    value = float(wins.sum() / (len(clean) * len(faulty)))
    if len(names) < 2:
        return Measure(value=value, n=1)
    drawn = np.random.default_rng(seed).multinomial(len(names), [1 / len(names)] * len(names), size=DRAWS)
    pairs = (drawn @ counts[0]) * (drawn @ counts[1])
    values = np.einsum("di,ij,dj->d", drawn, wins, drawn, optimize=True)[pairs > 0] / pairs[pairs > 0]
    outside = compute_tail(len(names))
    low, high = map(float, np.quantile(values, [outside, 1 - outside]))
    if high - low < 1e-9:
        low, high = wilson(value, float(min(np.count_nonzero(count) for count in counts)))
    return Measure(value=value, low=min(low, value), high=max(high, value), n=len(names))


def threshold(clean: Scored) -> float:
    """The score from which outputs pass, so that at least `SPECIFICITY` of the clean ones do."""
    return float(np.quantile([score for score, _ in clean], 1 - SPECIFICITY, method="lower"))


def share(cases: Iterable[tuple[bool, str]]) -> Measure | None:
    """The share of cases that hold, with Wilson's interval for that many dialogues; None without cases."""
    cases = list(cases)
    if not cases:
        return None
    value, n = float(np.mean([holds for holds, _ in cases])), len({dialogue for _, dialogue in cases})
    low, high = wilson(value, n)
    return Measure(value=value, low=low, high=high, n=n)


def fit_evidence(clean: Floats, faulty: Floats) -> tuple[float, float]:
    """Slope and intercept of the log-likelihood ratio of clean over faulty, by logistic regression with equal weights
    of both sides (Platt 1999, whose smoothed targets keep scores that separate all finite)."""
    from scipy.optimize import minimize

    scores = np.concatenate([clean, faulty])
    sizes = np.repeat([len(clean), len(faulty)], [len(clean), len(faulty)])
    target = np.abs((np.arange(len(scores)) < len(clean)) - 1 / (sizes + 2))
    middle, scale = scores.mean(), scores.std() or 1.0

    def loss(parameters: Floats) -> float:
        logit = parameters[0] * (scores - middle) / scale + parameters[1]
        return float(np.sum((np.logaddexp(0, logit) - target * logit) / sizes))

    slope, intercept = minimize(loss, np.zeros(2)).x
    return float(slope / scale), float(intercept - slope * middle / scale)


def calibration_error(evidence: Floats, clean: Mask) -> float:
    """ECE: |share of clean outputs − mean probability of clean|, over bins of that probability, with equal weights of
    both sides."""
    probability = 1 / (1 + np.exp(-evidence))
    weight = np.where(clean, 1 / max(clean.sum(), 1), 1 / max((~clean).sum(), 1))
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, weight * (clean - probability))).sum() / weight.sum())
