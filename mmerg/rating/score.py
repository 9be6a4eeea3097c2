"""Scores of a study: means or wins with intervals over dialogues and raters, and agreement.

An interval is estimate ± t times the standard error. Its variance is the sum of two bootstraps, over dialogues and over
raters, each corrected for its few units (such a sum is conservative: Owen 2007, arXiv 0712.1111); the degrees of
freedom are Satterthwaite's. So it holds for other raters and dialogues, and is wide where raters are few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import isnan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from mmerg.rating.agreement import ac2, alpha, icc
from mmerg.rating.answers import StudyAnswers
from mmerg.scoring.metric import Floats, Indices
from mmerg.scoring.score import Score
from mmerg.scoring.shares import LEVEL, holm
from mmerg.storage.record import Record

if TYPE_CHECKING:
    from pandas import DataFrame

OUTCOMES = {"win": 1.0, "tie": 0.0, "lose": -1.0}


class CandidatePair(Record):
    """Candidate A against B on a question. scores: difference (A minus B, points), or win, tie, lose and margin (%).
    says: the conclusion."""

    a: str
    b: str
    question: str
    scores: dict[str, Score]
    p: float | None
    p_holm: float | None = None
    says: str = ""


class StudyScores(Record):
    """The scores by some raters. means: by candidate and question. agreement: by question alpha_nominal, alpha_ordinal,
    ac2, and icc_2_k of Likert ratings."""

    raters: tuple[str, ...]
    means: dict[str, dict[str, Score]]
    pairs: tuple[CandidatePair, ...]
    agreement: dict[str, dict[str, Score]]


def score_study(answers: StudyAnswers, raters: Sequence[str], draws: int, seed: int) -> StudyScores:
    """The scores by these raters only."""
    likert, names = answers.form.replies == 1, [candidate.name for candidate in answers.key.candidates]
    agreement: dict[str, dict[str, Score]] = {}
    means: dict[str, dict[str, Score]] = {}
    pairs: list[CandidatePair] = []
    for question in answers.form.questions:
        points = answers.points(question)
        span = points[-1] - points[0]
        agreement[question] = _agreement(answers.matrix(question, raters), points, likert, draws, seed)

        def mean(name: str, frame: DataFrame, low: float, high: float) -> tuple[Score, float | None]:
            dialogues = frame.index.get_level_values("dialogue").tolist()
            return two_way(name, frame.to_numpy(), dialogues, draws, seed, (low, high))

        for number, name in enumerate(names if likert else ()):
            frame = answers.matrix(question, raters, number)
            means.setdefault(name, {})[question] = mean(question, frame, points[0], points[-1])[0]
        for one, other in combinations(range(len(names)), 2):
            if likert:
                frame = answers.matrix(question, raters, one) - answers.matrix(question, raters, other)
                difference, p = mean("difference", frame, -span, span)
                scores = {"difference": difference}
            else:
                frame = answers.matrix(question, raters, one, other)
                shares = {name: 100 * frame.eq(value).where(frame.notna()) for name, value in OUTCOMES.items()}
                scores = {name: mean(name, share.astype(float), 0, 100)[0] for name, share in shares.items()}
                scores["margin"], p = mean("margin", 100 * frame, -100, 100)
            pairs.append(CandidatePair(a=names[one], b=names[other], question=question, scores=scores, p=p))
    corrected = iter(holm([pair.p for pair in pairs if pair.p is not None]))
    pairs = [pair if pair.p is None else pair.model_copy(update={"p_holm": next(corrected)}) for pair in pairs]
    said = [pair.model_copy(update={"says": _says(pair, agreement[pair.question]["alpha_ordinal"])}) for pair in pairs]
    return StudyScores(raters=tuple(raters), means=means, pairs=tuple(said), agreement=agreement)


def _says(pair: CandidatePair, alpha: Score) -> str:
    """Says better only if chance does not explain the difference, and raters agree more than by chance."""
    score = pair.scores.get("margin") or pair.scores["difference"]
    if pair.p_holm is None or score.value is None:
        return f"not tested: {score.why.removeprefix('no interval: ')}"
    if pair.p_holm >= LEVEL:
        return "no significant difference"
    if not alpha.interval or alpha.interval[0] <= 0:
        return "not decided: the raters may agree only by chance (alpha)"
    return f"{pair.a if score.value > 0 else pair.b} is better"


def _agreement(frame: DataFrame, points: Sequence[float], likert: bool, draws: int, seed: int) -> dict[str, Score]:
    ratings = frame.to_numpy()
    functions = {
        "alpha_nominal": alpha(ratings, points, "nominal"),
        "alpha_ordinal": alpha(ratings, points, "ordinal"),
        "ac2": ac2(ratings, points),
    }
    scores = {name: coefficient(name, value, frame, draws, seed) for name, value in functions.items()}
    if likert:
        whole = frame.dropna()
        value = icc(whole.to_numpy())
        why = "no two items were rated by all of two or more raters" if min(whole.shape) < 2 else "nothing varies"
        known = {"value": None, "why": why} if isnan(value) else {"value": value}
        scores["icc_2_k"] = Score.model_validate({"name": "icc_2_k", "n": len(whole), **known})
    return scores


def coefficient(name: str, value: Callable[[Indices], float], frame: DataFrame, draws: int, seed: int) -> Score:
    """A coefficient of agreement over all items with its interval over dialogues, or why it is undefined. n: items with
    two ratings or more."""
    n = int((frame.notna().sum(axis=1) > 1).sum())
    score = Score(name=name, value=None, n=n, why="no item has two ratings")
    if n and isnan(value(np.arange(len(frame)))):
        return score.model_copy(update={"why": "undefined: all ratings are the same"})
    if n:
        dialogues = frame.index.get_level_values("dialogue").tolist()
        score = score.over(value, dialogues, "bootstrap", resamples=draws, seed=seed)
    return score.model_copy(update={"n": n})


def two_way(
    name: str, values: Floats, dialogues: Sequence[str], draws: int, seed: int, ends: tuple[float, float]
) -> tuple[Score, float | None]:
    """The mean of values, shape [items, raters] with NaN if missing, with its interval within `ends`; and the two-sided
    p of a mean of 0. dialogues: of each item."""
    from scipy.stats import t

    known = ~np.isnan(values)
    score = Score(name=name, value=None, n=int(known.any(axis=1).sum()), why="no ratings")
    if not known.any():
        return score, None
    groups = np.unique(np.array(dialogues, str), return_inverse=True)[1]
    sums, counts = (np.zeros((groups.max() + 1, values.shape[1])) for _ in range(2))
    np.add.at(sums, groups, np.where(known, values, 0.0))
    np.add.at(counts, groups, known)
    estimate = float(sums.sum() / counts.sum())
    score = score.model_copy(update={"value": estimate, "why": "no interval: all ratings are from one dialogue"})
    if len(sums) < 2:
        return score, None
    random = np.random.default_rng(seed)
    variances: list[tuple[float, int]] = []
    for axis in (1, 0):  # over dialogues, over raters
        total, count = sums.sum(axis=axis), counts.sum(axis=axis)
        total, count = total[count > 0], count[count > 0]
        if (size := len(total)) > 1:
            drawn = random.multinomial(size, np.full(size, 1 / size), draws)
            variances.append((float(np.var((drawn @ total) / (drawn @ count))) * size / (size - 1), size))
    variance = sum(part for part, _ in variances)
    if variance < 1e-18:
        return score.model_copy(update={"why": "no interval: all ratings are the same"}), None
    freedom = variance**2 / sum(part**2 / (size - 1) for part, size in variances)
    error = sqrt(variance)
    half = float(t.ppf(1 - LEVEL / 2, freedom)) * error
    over = " and ".join(f"{size} {what}" for (_, size), what in zip(variances, ("dialogues", "raters"), strict=False))
    method = f"bootstrap, {draws} draws of {over}, seed {seed}, t with {freedom:.1f} degrees of freedom"
    method += "; one rater, so it does not generalise to others" * (len(variances) < 2)
    interval = (max(ends[0], estimate - half), min(ends[1], estimate + half))
    p = 2 * float(t.sf(abs(estimate) / error, freedom))
    return score.model_copy(update={"interval": interval, "method": method, "why": ""}), p
