"""How well scores tell clean outputs from faulty ones.

AUC: the share of pairs of a clean and a faulty output in which the clean one has the higher score; ties count half.
Intervals come from a bootstrap over dialogues, so outputs of one dialogue stay together; where no draw differs, from
Wilson's for as many dialogues. A check that cannot be read counts against the auditor: it passes nothing clean and
finds nothing faulty.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from mmerg.auditing.faults import HUMAN, WRONG, Case
from mmerg.scoring.intervals import outside_of, wilson
from mmerg.scoring.metric import Floats
from mmerg.scoring.score import DRAWS
from mmerg.settings.model import Form
from mmerg.systems.audit import Measure

BINS = 10  # of the calibration error
SPECIFICITY = 0.9  # that thresholds are fitted for


@dataclass(frozen=True)
class Outputs:
    """The scores of some outputs, shape [n], and the dialogue of each."""

    scores: Floats
    dialogues: tuple[str, ...]

    @classmethod
    def of(cls, cases: Iterable[Case], form: Form, unread: float) -> "Outputs":
        """unread: the score of a check that cannot be read."""
        known = [(case.scores[form], case.dialogue) for case in cases if form in case.scores]
        scores = np.array([unread if score is None else score for score, _ in known], float)
        return cls(scores, tuple(dialogue for _, dialogue in known))


def sides(cases: Sequence[Case], stage: str, form: Form, kind: str) -> tuple[Outputs, Outputs]:
    """The clean outputs of a stage and the faulty ones of a kind."""
    cases = [case for case in cases if case.stage == stage]
    own = [case for case in cases if not case.fault]
    planted = [case for case in cases if case.fault == kind]
    clean, faulty = own, planted
    if kind == WRONG:
        clean, faulty = ([case for case in own if case.right is right] for right in (True, False))
    elif kind == HUMAN:
        clean, faulty = planted, own if planted else []
    return Outputs.of(clean, form, -inf), Outputs.of(faulty, form, inf)


def auc(clean: Outputs, faulty: Outputs, seed: int = 0) -> Measure | None:
    """None where there is nothing on one side."""
    if not len(clean.scores) or not len(faulty.scores):
        return None
    names = sorted({*clean.dialogues, *faulty.dialogues})
    places = {name: place for place, name in enumerate(names)}
    rows, columns = ([places[name] for name in side.dialogues] for side in (clean, faulty))
    above = clean.scores[:, None] > faulty.scores[None, :]
    wins = np.zeros((len(names), len(names)))
    np.add.at(wins, np.ix_(rows, columns), above + 0.5 * (clean.scores[:, None] == faulty.scores[None, :]))
    counts = [np.bincount(side, minlength=len(names)) for side in (rows, columns)]
    value = float(wins.sum() / (counts[0].sum() * counts[1].sum()))
    measure = Measure(value=value, n=len(names))
    if len(names) < 2:
        return measure
    drawn = np.random.default_rng(seed).multinomial(len(names), [1 / len(names)] * len(names), size=DRAWS)
    pairs = (drawn @ counts[0]) * (drawn @ counts[1])
    values = np.einsum("di,ij,dj->d", drawn, wins, drawn, optimize=True)[pairs > 0] / pairs[pairs > 0]
    outside = outside_of(len(names))
    low, high = map(float, np.quantile(values, [outside, 1 - outside]))
    if high - low < 1e-9:
        low, high = wilson(value, float(min(np.count_nonzero(count) for count in counts)))
    return measure.model_copy(update={"low": min(low, value), "high": max(high, value)})


def threshold(clean: Outputs) -> float:
    """The lowest score that passes, so that at least `SPECIFICITY` of the clean outputs do."""
    return float(np.quantile(clean.scores, 1 - SPECIFICITY, method="lower"))


def share(passed: Callable[[Floats], np.ndarray[tuple[int], np.dtype[np.bool_]]], outputs: Outputs) -> Measure | None:
    """The share of outputs for which `passed` holds, with Wilson's interval for as many dialogues."""
    if not len(outputs.scores):
        return None
    value, n = float(np.mean(passed(outputs.scores))), len(set(outputs.dialogues))
    low, high = wilson(value, n)
    return Measure(value=value, low=low, high=high, n=n)


def fit_evidence(clean: Floats, faulty: Floats) -> tuple[float, float]:
    """slope and intercept of the log-likelihood ratio of clean over faulty, by logistic regression with both sides of
    equal weight (Platt 1999, with his smoothed targets, so that scores that separate all stay finite)."""
    from scipy.optimize import minimize

    scores = np.concatenate([clean, faulty])
    target = np.concatenate(
        [np.full(len(clean), 1 - 1 / (len(clean) + 2)), np.full(len(faulty), 1 / (len(faulty) + 2))]
    )
    weight = np.concatenate([np.full(len(clean), 1 / len(clean)), np.full(len(faulty), 1 / len(faulty))])
    middle, scale = scores.mean(), scores.std() or 1.0

    def loss(parameters: Floats) -> float:
        logit = parameters[0] * (scores - middle) / scale + parameters[1]
        return float(np.sum(weight * (np.logaddexp(0, logit) - target * logit)))

    slope, intercept = minimize(loss, np.zeros(2)).x
    return float(slope / scale), float(intercept - slope * middle / scale)


def calibration_error(evidence: Floats, clean: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """ECE: |share of clean outputs − mean probability of clean|, over bins of that probability, both sides of equal
    weight."""
    probability = 1 / (1 + np.exp(-evidence))
    weight = np.where(clean, 1 / max(clean.sum(), 1), 1 / max((~clean).sum(), 1))
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weight * (clean - probability))
    return float(np.abs(gaps).sum() / weight.sum())


def f1(found: float, passed: float) -> float:
    """ProcessBench's: the harmonic mean of the accuracy on faulty and on clean (arXiv 2412.06559)."""
    return 2 * found * passed / (found + passed) if found + passed else 0.0
