"""The model judge and people on the same items: alpha with the judge as another rater, kappa, and both orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from pathlib import Path
from statistics import fmean

from mmerg.judging.judgement import VERDICTS, read_judgements, read_matches
from mmerg.judging.metrics import agree_orders, find_outcomes
from mmerg.rating.agreement import alpha, kappa
from mmerg.rating.answers import StudyAnswers
from mmerg.rating.score import coefficient
from mmerg.runs.folder import read_records
from mmerg.runs.manifest import RunRef, read_manifest
from mmerg.runs.result import Verdicts
from mmerg.scoring.score import Score
from mmerg.storage.record import Record


class JudgeFacts(Record):
    """A judge on a question. n: items that it and people rated. people, joined: ordinal alpha of people, and with the
    judge as another rater. kappa: of the judge and the median of people, quadratic weights. counts: by points, the
    median of people in rows, the judge in columns. both_orders: the share (%) of pairs in which both orders agree."""

    judge: str
    question: str
    n: int
    people: Score
    joined: Score
    kappa: float | None
    points: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    both_orders: float | None = None


def judge_facts(answers: StudyAnswers, runs: Mapping[int, Path], draws: int, seed: int) -> Iterator[JudgeFacts]:
    """The facts of every judge beside the runs of candidates. Raises RunError if a judgement is stale or cannot be
    read."""
    columns: dict[tuple[str, str], dict[str, float]] = {}
    same: dict[tuple[str, str], list[bool]] = {}
    for judge, folder, candidates in _judgings(answers, runs):
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
                found = columns.setdefault((judge, question), {})
                if values:
                    found[code] = round(fmean(values))
                same.setdefault((judge, question), []).extend(agree_orders(usable))
    for (judge, question), column in columns.items():
        yield _compare(answers, judge, question, column, same[judge, question], draws, seed)


def _judgings(answers: StudyAnswers, runs: Mapping[int, Path]) -> Iterator[tuple[str, Path, tuple[int, ...]]]:
    """Each judge by name, the folder of its verdicts, and their candidates."""
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


def _compare(
    answers: StudyAnswers,
    judge: str,
    question: str,
    column: Mapping[str, float],
    same: list[bool],
    draws: int,
    seed: int,
) -> JudgeFacts:
    import numpy as np
    from pandas import crosstab

    people, points = answers.matrix(question, answers.raters), answers.points(question)
    verdicts = people.index.get_level_values("item").map(column).to_numpy(float)
    both = people.notna().any(axis=1) & ~np.isnan(verdicts)
    people, verdicts = people[both], verdicts[both]
    joined = people.assign(judge=verdicts)
    median = np.array([min(points, key=lambda point: abs(point - row)) for row in people.median(axis=1)], float)
    counts = crosstab(median, verdicts).reindex(index=points, columns=points, fill_value=0)
    value = kappa(median, verdicts)
    scores = {
        name: coefficient(name, alpha(frame.to_numpy(), points, "ordinal"), frame, draws, seed)
        for name, frame in (("people", people), ("joined", joined))
    }
    return JudgeFacts(
        judge=judge,
        question=question,
        n=len(people),
        **scores,
        kappa=None if isnan(value) else value,
        points=tuple(points),
        counts=tuple(tuple(row) for row in counts.to_numpy().tolist()),
        both_orders=100 * fmean(same) if same else None,
    )
