"""The model judge against people, on the same items: alpha with the judge as one more rater, kappa, and both orders."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mmerg.judging.figures import FIGURES, outcomes
from mmerg.judging.judgement import VERDICTS, read_judgements, read_matches
from mmerg.rating.agreement import Tally, confusion, kappa
from mmerg.rating.score import Table
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
    """Of every judge beside the runs, where these are still at their place. Raises RunError where a judgement is stale
    or cannot be read."""
    given: dict[tuple[str, str], Floats] = {}
    alike: dict[tuple[str, str], list[bool]] = {}
    for number, candidate in enumerate(table.key.candidates):
        path = Path(candidate.path)
        if not candidate.path or not path.is_dir():
            continue
        matches = read_matches(About(path, read_manifest(path))) if table.form.replies == 2 else []
        for judged in (*matches, *(read_judgements(path).values() if table.form.replies == 1 else ())):
            verdicts = read_lines(path.parent / judged.judging / VERDICTS, Verdicts)
            others = [one.name for one in table.key.candidates]
            of = (
                (number, others.index(judged.runs[1]))
                if hasattr(judged, "runs") and judged.runs[1] in others
                else (number,)
            )
            for place, item in enumerate(table.items.values()):
                if sorted(item.candidates) != sorted(of) or item.sample not in verdicts:
                    continue
                sample, sign = verdicts[item.sample], 1 if item.candidates == of else -1
                for question in table.ratings:
                    usable = [one for one in sample.verdicts if one.aspect == question and one.usable]
                    if table.form.replies == 2:
                        values = [sign * one for one in outcomes(sample, [question])]
                        alike.setdefault((judged.name, question), []).extend(FIGURES["agree_orders"](usable))
                    else:
                        values = [round(np.mean([one.score for one in usable if one.score]))] if usable else []
                    column = given.setdefault((judged.name, question), np.full(len(table.items), np.nan))
                    column[place] = values[0] if values else np.nan
    for (judge, question), column in given.items():
        yield _facts(table, judge, question, column, alike.get((judge, question), []), draws, seed)


def _facts(
    table: Table, judge: str, question: str, column: Floats, alike: list[bool], draws: int, seed: int
) -> JudgeFacts:
    people, points = table.ratings[question], table.points(question)
    both = ~np.isnan(column) & (~np.isnan(people)).any(axis=1)
    dialogues = [table.dialogues[row] for row in np.flatnonzero(both)]

    def alpha(name: str, ratings: Floats) -> Score:
        score, value = (
            Score(name=name, value=None, n=int(both.sum()), why="not defined"),
            Tally(ratings, points).alpha("ordinal"),
        )
        defined = both.any() and not np.isnan(value(np.arange(both.sum())))
        return score.over(value, dialogues, "bootstrap", resamples=draws, seed=seed) if defined else score

    median = np.array([points[np.abs(np.array(points) - np.nanmedian(row)).argmin()] for row in people[both]])
    counts = confusion(median, column[both], points)
    value = kappa(counts, "ordinal")
    return JudgeFacts(
        judge=judge,
        question=question,
        n=int(both.sum()),
        people=alpha("people", people[both]),
        joined=alpha("joined", np.column_stack([people[both], column[both]])),
        kappa=None if np.isnan(value) else value,
        points=tuple(points),
        counts=tuple(tuple(map(int, row)) for row in counts),
        both_orders=100 * sum(alike) / len(alike) if alike else None,
    )
