"""Metrics of how well scores separate clean from faulty outputs.

AUC is the share of pairs of a clean and a faulty output in which the clean one has the higher score; a tie counts half.
Intervals are from a bootstrap over dialogues or, if all draws are equal, from Wilson's method for that many dialogues.
An unreadable check counts against the auditor: it passes no clean output and detects no fault.
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
    """Collects the scores of the cases that have this form. unread: the score of a check that cannot be read."""
    scores = [(case.scores[form], case.dialogue) for case in cases if form in case.scores]
    return [(unread if score is None else score, dialogue) for score, dialogue in scores]


def split_sides(cases: Sequence[Case], stage: str, form: Form, kind: str) -> tuple[Scored, Scored]:
    """Returns the scores of a stage's clean outputs, and those of its faulty outputs of a kind. A forecast that the
    gold label contradicts is never clean; planted ones are then of the samples with a clean one alone."""
    cases = [case for case in cases if case.stage == stage]
    unchanged = [case for case in cases if not case.fault]
    clean = [case for case in unchanged if case.right is not False]
    with_clean = {case.sample for case in clean}
    faulty = [case for case in cases if case.fault == kind and case.sample in with_clean]
    if kind == WRONG:
        clean, faulty = [case for case in clean if case.right], [case for case in unchanged if case.right is False]
    elif kind == HUMAN:
        clean, faulty = faulty, unchanged
    return collect_scores(clean, form, -inf), collect_scores(faulty, form, inf)


def measure_auc(clean: Scored, faulty: Scored, seed: int = 0) -> Measure | None:
    """Measures the AUC with its interval over dialogues; None if a side is empty."""
    if not clean or not faulty:
        return None
    dialogues = sorted({dialogue for _, dialogue in (*clean, *faulty)})
    n = len(dialogues)
    index = {dialogue: number for number, dialogue in enumerate(dialogues)}
    rows, columns = ([index[dialogue] for _, dialogue in side] for side in (clean, faulty))
    clean_scores, faulty_scores = (np.array([score for score, _ in side]) for side in (clean, faulty))
    above = clean_scores[:, None] > faulty_scores[None, :]
    equal = clean_scores[:, None] == faulty_scores[None, :]
    wins = np.zeros((n, n))  # by the dialogue of the clean and of the faulty output
    np.add.at(wins, np.ix_(rows, columns), above + 0.5 * equal)
    clean_counts, faulty_counts = np.bincount(rows, minlength=n), np.bincount(columns, minlength=n)
    value = float(wins.sum() / (len(clean) * len(faulty)))
    low = high = value
    if n > 1:
        draws = np.random.default_rng(seed).multinomial(n, [1 / n] * n, size=DRAWS)
        pairs = (draws @ clean_counts) * (draws @ faulty_counts)
        values = np.einsum("di,ij,dj->d", draws, wins, draws, optimize=True)[pairs > 0] / pairs[pairs > 0]
        tail = compute_tail(n)
        low, high = map(float, np.quantile(values, [tail, 1 - tail]))
    if high - low < 1e-9:
        low, high = wilson(value, float(min(np.count_nonzero(clean_counts), np.count_nonzero(faulty_counts))))
    return Measure(value=value, low=min(low, value), high=max(high, value), n=n)


def fit_threshold(clean: Scored) -> float:
    """Fits the score from which outputs pass, so that at least `SPECIFICITY` of the clean ones do."""
    return float(np.quantile([score for score, _ in clean], 1 - SPECIFICITY, method="lower"))


def fit_best_threshold(clean: Floats, faulty: Floats) -> float:
    """Fits the score from which outputs pass, with the highest Youden's J: sensitivity + specificity - 1. It suits
    scores of few values, as those of code, where `fit_threshold` may pass every output."""
    candidates = np.unique(np.concatenate([clean, faulty]))
    return float(max(candidates, key=lambda value: np.mean(clean >= value) - np.mean(faulty >= value)))


def measure_share(cases: Iterable[tuple[bool, str]]) -> Measure | None:
    """Measures the share of `cases` that hold, with Wilson's interval for their number of dialogues; None if empty."""
    cases = list(cases)
    if not cases:
        return None
    value, n = float(np.mean([holds for holds, _ in cases])), len({dialogue for _, dialogue in cases})
    low, high = wilson(value, n)
    return Measure(value=value, low=low, high=high, n=n)


def fit_evidence(clean: Floats, faulty: Floats) -> tuple[float, float]:
    """Fits the slope and intercept of the log-likelihood ratio of clean over faulty, by logistic regression with equal
    weights of both sides (Platt 1999; his smoothed targets keep the slope finite if the scores separate the sides)."""
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
    """Computes the expected calibration error: |share of clean outputs − mean probability of clean|, over bins of that
    probability, with equal weights of both sides. evidence: log-likelihood ratios; clean: the truth; both [outputs]."""
    probability = 1 / (1 + np.exp(-evidence))
    weight = np.where(clean, 1 / max(clean.sum(), 1), 1 / max((~clean).sum(), 1))
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, weight * (clean - probability))).sum() / weight.sum())
