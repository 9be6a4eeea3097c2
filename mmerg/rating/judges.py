"""The model judge against people, on the same items: alpha with the judge as one more rater, kappa, and both orders."""

from collections.abc import Iterator
from math import isnan
from pathlib import Path
from statistics import fmean

import numpy as np

from mmerg.judging.figures import FIGURES, outcomes
from mmerg.judging.judgement import VERDICTS, read_judgements, read_matches
from mmerg.rating.agreement import Tally, confusion, kappa
from mmerg.rating.score import Table, coefficient
from mmerg.runs.manifest import About, read_manifest
from mmerg.runs.result import Verdicts, read_lines
from mmerg.scoring.metric import Floats
from mmerg.scoring.score import Score
from mmerg.storage.record import Record


class JudgeFacts(Record):
    """A judge on a question. n: items that it and people rated. people, joined: ordinal alpha of people, and with the
    judge as one more rater. kappa: of the judge and the median of people, quadratic weights. counts: by points, the
    median of people in rows, the judge in columns. both_orders: of pairs, the share (%) in which both orders agree."""

    judge: str
    question: str
    n: int
    people: Score
    joined: Score
    kappa: float | None
    points: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    both_orders: float | None = None


def judge_facts(table: Table, draws: int, seed: int) -> Iterator[JudgeFacts]:
    """Of every judge beside the runs that are at their place and have not changed. Raises RunError where a judgement is
    stale or cannot be read."""
    columns: dict[tuple[str, str], Floats] = {}
    alike: dict[tuple[str, str], list[bool]] = {}
    for judge, folder, of in _judgings(table):
        verdicts = read_lines(folder / VERDICTS, Verdicts)
        for place, item in enumerate(table.items.values()):
            judged = verdicts.get(item.sample)
            if not judged or judged.status != "ok" or sorted(item.candidates) != sorted(of):
                continue
            for question in table.ratings:
                usable = [one for one in judged.verdicts if one.aspect == question and one.usable]
                ratings = [one.score for one in usable if one.score is not None]
                values = (
                    list(outcomes(judged, [question])) if len(of) == 2 else [round(fmean(ratings))] if ratings else []
                )
                column = columns.setdefault((judge, question), np.full(len(table.items), np.nan))
                column[place] = values[0] * (1 if item.candidates == of else -1) if values else np.nan
                alike.setdefault((judge, question), []).extend(FIGURES["agree_orders"](usable))
    for (judge, question), column in columns.items():
        yield _facts(table, judge, question, column, alike[judge, question], draws, seed)


def _judgings(table: Table) -> Iterator[tuple[str, Path, tuple[int, ...]]]:
    """Each judge by name, the folder of its verdicts, and the candidates that they are of; none of replies that are not
    those that people rated."""
    of_run = {one.name: number for number, one in enumerate(table.key.candidates) if not one.problem}
    for number in of_run.values():
        path = Path(table.key.candidates[number].path)
        if table.form.replies == 1:
            for judgement in read_judgements(path).values():
                yield judgement.name, path.parent / judgement.judging, (number,)
        else:
            for match in read_matches(About(path, read_manifest(path))):
                other = of_run.get(match.runs[1])
                if other is not None and match.replies[1] == table.key.candidates[other].replies:
                    yield match.name, path.parent / match.judging, (number, other)


def _facts(
    table: Table, judge: str, question: str, column: Floats, alike: list[bool], draws: int, seed: int
) -> JudgeFacts:
    both = ~np.isnan(column) & (~np.isnan(table.ratings[question])).any(axis=1)
    people, verdicts, points = table.ratings[question][both], column[both], table.points(question)
    median = np.array([points[np.abs(np.array(points) - np.nanmedian(row)).argmin()] for row in people])
    counts = confusion(median, verdicts, points)
    dialogues = [dialogue for dialogue, known in zip(table.dialogues, both, strict=True) if known]
    alphas = {
        name: coefficient(name, Tally(ratings, points).alpha("ordinal"), dialogues, draws, seed)
        for name, ratings in (("people", people), ("joined", np.column_stack([people, verdicts])))
    }
    value = kappa(counts, "ordinal")
    return JudgeFacts(
        judge=judge,
        question=question,
        n=len(people),
        **alphas,
        kappa=None if isnan(value) else value,
        points=tuple(points),
        counts=tuple(tuple(map(int, row)) for row in counts),
        both_orders=100 * sum(alike) / len(alike) if alike else None,
    )
