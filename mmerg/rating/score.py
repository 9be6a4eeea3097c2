"""The scores of a study: means or wins, with intervals over dialogues and raters, and agreement.

An interval is the estimate ± t times the standard error. The variance is the sum of two bootstrap variances, over
dialogues and over raters, each corrected for its number of units; such a sum is conservative (Owen 2007, arXiv
0712.1111). The degrees of freedom are Satterthwaite's. So an interval generalises to other raters and dialogues, and is
wide if there are few raters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from math import isnan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from mmerg.rating.agreement import gwet_ac2, icc, krippendorff_alpha
from mmerg.rating.answers import StudyAnswers
from mmerg.scoring.metric import Indices
from mmerg.scoring.score import Score
from mmerg.scoring.shares import LEVEL, holm
from mmerg.storage.record import Record

if TYPE_CHECKING:
    from pandas import DataFrame

OUTCOMES = {"win": 1.0, "tie": 0.0, "lose": -1.0}


class CandidatePair(Record):
    """Candidate A against candidate B on a question."""

    a: str
    b: str
    question: str
    scores: dict[str, Score]  # `difference` (A minus B, in points); of pairs `win`, `tie`, `lose`, `margin` (%)
    p: float | None
    p_holm: float | None = None  # p, corrected for all pairs
    says: str = ""  # the conclusion


class StudyScores(Record):
    """The scores by some of the raters."""

    raters: tuple[str, ...]
    means: dict[str, dict[str, Score]]  # by candidate and question, of Likert ratings
    pairs: tuple[CandidatePair, ...]
    agreement: dict[str, dict[str, Score]]  # by question: alpha_nominal, alpha_ordinal, ac2, and of Likert icc_2_k


def score_study(answers: StudyAnswers, raters: Sequence[str], draws: int, seed: int) -> StudyScores:
    """Scores a study by these raters only. draws: of each bootstrap."""
    likert, mean = answers.form.replies == 1, partial(estimate_mean, draws=draws, seed=seed)
    names = [candidate.name for candidate in answers.key.candidates]
    agreement: dict[str, dict[str, Score]] = {}
    means: dict[str, dict[str, Score]] = {}
    pairs: list[CandidatePair] = []
    for question in answers.form.questions:
        points = answers.list_points(question)
        span = points[-1] - points[0]
        agreement[question] = _score_agreement(answers.matrix(question, raters), points, likert, draws, seed)
        for number, name in enumerate(names if likert else ()):
            frame = answers.matrix(question, raters, number)
            means.setdefault(name, {})[question] = mean(question, frame, (points[0], points[-1]))[0]
        for a, b in combinations(range(len(names)), 2):
            if likert:
                frame = answers.matrix(question, raters, a) - answers.matrix(question, raters, b)
                difference, p = mean("difference", frame, (-span, span))
                scores = {"difference": difference}
            else:
                frame = answers.matrix(question, raters, a, b)
                shares = {name: 100 * frame.eq(value).where(frame.notna()) for name, value in OUTCOMES.items()}
                scores = {name: mean(name, share.astype(float), (0, 100))[0] for name, share in shares.items()}
                scores["margin"], p = mean("margin", 100 * frame, (-100, 100))
            pairs.append(CandidatePair(a=names[a], b=names[b], question=question, scores=scores, p=p))
    corrected = iter(holm([pair.p for pair in pairs if pair.p is not None]))
    concluded = []
    for pair in pairs:
        tested = pair if pair.p is None else pair.model_copy(update={"p_holm": next(corrected)})
        conclusion = _conclude(tested, agreement[pair.question]["alpha_ordinal"])
        concluded.append(tested.model_copy(update={"says": conclusion}))
    return StudyScores(raters=tuple(raters), means=means, pairs=tuple(concluded), agreement=agreement)


def _conclude(pair: CandidatePair, alpha: Score) -> str:
    """Words the conclusion. A candidate is better only if neither difference nor agreement is due to chance."""
    score = pair.scores.get("margin") or pair.scores["difference"]
    if pair.p_holm is None or score.value is None:
        return f"not tested: {score.why.removeprefix('no interval: ')}"
    if pair.p_holm >= LEVEL:
        return "no significant difference"
    if not alpha.interval or alpha.interval[0] <= 0:
        return "not decided: the raters may agree only by chance (alpha)"
    return f"{pair.a if score.value > 0 else pair.b} is better"


def _score_agreement(
    frame: DataFrame, points: Sequence[float], likert: bool, draws: int, seed: int
) -> dict[str, Score]:
    """Computes the coefficients of agreement on a question. frame: ratings, shape [items, raters]."""
    ratings = frame.to_numpy()
    functions = {
        "alpha_nominal": krippendorff_alpha(ratings, points, "nominal"),
        "alpha_ordinal": krippendorff_alpha(ratings, points, "ordinal"),
        "ac2": gwet_ac2(ratings, points),
    }
    scores = {name: score_coefficient(name, value, frame, draws, seed) for name, value in functions.items()}
    if likert:
        complete = frame.dropna()
        value = icc(complete.to_numpy())
        why = "no two items were rated by all of two or more raters" if min(complete.shape) < 2 else "nothing varies"
        score = Score(name="icc_2_k", value=value, n=len(complete))
        scores["icc_2_k"] = score.model_copy(update={"value": None, "why": why}) if isnan(value) else score
    return scores


def score_coefficient(name: str, value: Callable[[Indices], float], frame: DataFrame, draws: int, seed: int) -> Score:
    """Scores a coefficient of agreement over all items, with its interval over dialogues or the reason why it is
    undefined. Its n is the number of items with two ratings or more."""
    n = int((frame.notna().sum(axis=1) > 1).sum())
    score = Score(name=name, value=None, n=n, why="no item has two ratings")
    if n and isnan(value(np.arange(len(frame)))):
        return score.model_copy(update={"why": "undefined: all ratings are the same"})
    if n:
        dialogues = frame.index.get_level_values("dialogue").tolist()
        score = score.evaluate(value, dialogues, "bootstrap", resamples=draws, seed=seed)
    return score.model_copy(update={"n": n})


def estimate_mean(
    name: str, frame: DataFrame, ends: tuple[float, float], *, draws: int, seed: int
) -> tuple[Score, float | None]:
    """Estimates a mean over items and raters, with its interval and the two-sided p of a mean of 0. frame: shape
    [items, raters], with NaN if missing; a level of its index is `dialogue`. ends: the lowest and highest possible
    mean, which bound the interval. draws: of each bootstrap. p is None without an interval."""
    from scipy.stats import t

    by_dialogue = frame.groupby(level="dialogue")
    sums, counts = by_dialogue.sum().to_numpy(), by_dialogue.count().to_numpy()
    score = Score(name=name, value=None, n=int(frame.notna().any(axis=1).sum()), why="no ratings")
    if not counts.any():
        return score, None
    estimate = float(sums.sum() / counts.sum())
    score = score.model_copy(update={"value": estimate, "why": "no interval: all ratings are from one dialogue"})
    if len(sums) < 2:
        return score, None
    random = np.random.default_rng(seed)
    variances: list[tuple[float, int]] = []  # each with its number of units
    for axis in (1, 0):  # over dialogues, over raters
        total, count = sums.sum(axis=axis), counts.sum(axis=axis)
        total, count = total[count > 0], count[count > 0]
        if (size := len(total)) > 1:
            weights = random.multinomial(size, np.full(size, 1 / size), draws)
            variances.append((float(np.var((weights @ total) / (weights @ count))) * size / (size - 1), size))
    variance = sum(part for part, _ in variances)
    if variance < 1e-18:
        return score.model_copy(update={"why": "no interval: all ratings are the same"}), None
    freedom = variance**2 / sum(part**2 / (size - 1) for part, size in variances)
    error = sqrt(variance)
    half = float(t.ppf(1 - LEVEL / 2, freedom)) * error
    over = " and ".join(f"{size} {units}" for (_, size), units in zip(variances, ("dialogues", "raters"), strict=False))
    method = f"bootstrap, {draws} draws of {over}, seed {seed}, t with {freedom:.1f} degrees of freedom"
    method += "; one rater, so it does not generalise to others" * (len(variances) < 2)
    interval = (max(ends[0], estimate - half), min(ends[1], estimate + half))
    p = 2 * float(t.sf(abs(estimate) / error, freedom))
    return score.model_copy(update={"interval": interval, "method": method, "why": ""}), p
