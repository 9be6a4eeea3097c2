"""Comparison of model judges with people on the same items: alpha with the judge as another rater, and kappa."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from pathlib import Path
from statistics import fmean

from mmerg.judging.judgement import VERDICTS, read_judgements, read_matches
from mmerg.judging.metrics import agree_orders, find_outcomes
from mmerg.rating.agreement import krippendorff_alpha, weighted_kappa
from mmerg.rating.answers import StudyAnswers
from mmerg.rating.score import score_coefficient
from mmerg.runs.folder import read_records
from mmerg.runs.manifest import RunRef, read_manifest
from mmerg.runs.result import Verdicts
from mmerg.scoring.score import Score
from mmerg.storage.record import Record


class JudgeComparison(Record):
    """A judge against people on one question."""

    judge: str
    question: str
    n: int  # items that both rated
    people: Score  # ordinal alpha of people
    joined: Score  # ordinal alpha with the judge as another rater
    kappa: float | None  # of the judge and the median of people, with quadratic weights
    points: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]  # items by the median of people (rows) and the judge (columns), as `points`
    both_orders: float | None = None  # share (%) of pairs in which the judge's verdicts in both orders agree


def compare_judges(answers: StudyAnswers, runs: Mapping[int, Path], draws: int, seed: int) -> Iterator[JudgeComparison]:
    """Compares every judge of the runs with people, question by question. runs: by number of the candidate. Raises
    RunError if a judgement is stale or cannot be read."""
    columns: dict[tuple[str, str], dict[str, float]] = {}
    agreements: dict[tuple[str, str], list[bool]] = {}  # of both orders
    for judge, folder, candidates in _find_judgings(answers, runs):
        verdicts = read_records(folder, Verdicts, VERDICTS) if folder.exists() else {}
        for code, item in answers.items.items():
            judged = verdicts.get(item.sample)
            if not judged or judged.status != "ok" or sorted(item.candidates) != sorted(candidates):
                continue
            for question in answers.form.questions:
                usable = [verdict for verdict in judged.verdicts if verdict.aspect == question and verdict.usable]
                if len(candidates) == 2:
                    sign = 1 if item.candidates == candidates else -1
                    values = [sign * outcome for outcome in find_outcomes(judged, [question])]
                else:
                    values = [verdict.score for verdict in usable if verdict.score is not None]
                column = columns.setdefault((judge, question), {})
                if values:
                    column[code] = round(fmean(values))
                agreements.setdefault((judge, question), []).extend(agree_orders(usable))
    for (judge, question), column in columns.items():
        yield _compare_judge(answers, judge, question, column, agreements[judge, question], draws, seed)


def _find_judgings(answers: StudyAnswers, runs: Mapping[int, Path]) -> Iterator[tuple[str, Path, tuple[int, ...]]]:
    """Yields the name of each judge, the folder of its verdicts, and the candidates that it judged."""
    for number, path in runs.items():
        if answers.form.replies == 1:
            for judgement in read_judgements(path).values():
                yield judgement.name, path.parent / judgement.judging, (number,)
            continue
        for match in read_matches(RunRef(path, read_manifest(path))):
            for other in runs:
                candidate = answers.key.candidates[other]
                if (candidate.name, candidate.replies) == (match.runs[1], match.replies[1]):
                    yield match.name, path.parent / match.judging, (number, other)


def _compare_judge(
    answers: StudyAnswers,
    judge: str,
    question: str,
    column: Mapping[str, float],
    agreements: list[bool],
    draws: int,
    seed: int,
) -> JudgeComparison:
    import numpy as np
    from pandas import crosstab

    people, points = answers.matrix(question, answers.raters), answers.list_points(question)
    verdicts = people.index.get_level_values("item").map(column).to_numpy(float)
    both = people.notna().any(axis=1) & ~np.isnan(verdicts)
    people, verdicts = people[both], verdicts[both]
    joined = people.assign(judge=verdicts)
    medians = people.median(axis=1)
    median = np.array([min(points, key=lambda point: abs(point - value)) for value in medians], float)  # on the scale
    counts = crosstab(median, verdicts).reindex(index=points, columns=points, fill_value=0)
    kappa = weighted_kappa(median, verdicts)
    scores = {
        name: score_coefficient(name, krippendorff_alpha(frame.to_numpy(), points, "ordinal"), frame, draws, seed)
        for name, frame in (("people", people), ("joined", joined))
    }
    return JudgeComparison(
        judge=judge,
        question=question,
        n=len(people),
        **scores,
        kappa=None if isnan(kappa) else kappa,
        points=tuple(points),
        counts=tuple(tuple(row) for row in counts.to_numpy().tolist()),
        both_orders=100 * fmean(agreements) if agreements else None,
    )
