"""The answers of a study as a data frame, each with its item; and statistics of each rater.

answers = StudyAnswers(log, read_key(folder))
answers.matrix("empathy", answers.raters)    # a row an item, a column a rater
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmerg.rating.form import CANNOT, SUBMIT, Point
from mmerg.rating.store import AGAIN, Log, as_drawn
from mmerg.rating.study import Key
from mmerg.storage.record import Record

if TYPE_CHECKING:
    from pandas import DataFrame

NUMBERS: dict[Point | str, float] = {"first": 1.0, "tie": 0.0, "second": -1.0}


class RaterFacts(Record):
    """silent, loud: checks failed, and checks answered. same: of `repeats` second answers, the share (%) equal to the
    first. seconds: the median per item. straight: the share (%) of items with the same answer to all questions.
    browsers: how many used the link."""

    items: int
    silent: tuple[int, int]
    loud: tuple[int, int]
    repeats: int
    same: float | None
    seconds: float | None
    straight: float
    cannot: int
    browsers: int
    passed: bool


class StudyAnswers:
    """frame: a row per answer to a question, without practice, with the item as drawn. number: the point; of pairs 1, 0
    or -1 if the first reply is better, neither, or the second; NaN for "cannot judge". wrong: of a check. items: those
    that are no checks. raters: all who rated any of these."""

    def __init__(self, log: Log, key: Key) -> None:
        from pandas import DataFrame

        self.log, self.key, self.form = log, key, log.study.form
        self.items = {code: item for code, item in key.items.items() if item.candidates}
        submits = [entry for entry in log.entries if entry.question == SUBMIT]
        seconds = {(entry.rater, entry.place): entry.ms / 1000 for entry in submits}
        refused = {(entry.rater, entry.place) for entry in submits if entry.value == AGAIN}
        rows = []
        for at, given in sorted(log.answers.items()):
            shown = log.shown(*at)
            item = key.items.get(shown.item)
            for question in self.form.questions if item else ():
                if question in given and item:
                    value = as_drawn(given[question], shown)
                    expected = item.expect.get(question, (value,))
                    rows.append(
                        {
                            **dict(zip(("rater", "place"), at, strict=True)),
                            **shown.model_dump(),
                            **item.model_dump(include={"sample", "dialogue", "loud"}),
                            "check": not item.candidates,
                            "a": item.candidates[0] if item.candidates else None,
                            "b": item.candidates[1] if item.candidates[1:] else None,
                            "question": question,
                            "value": value,
                            "number": NUMBERS.get(value, None if isinstance(value, str) else float(value)),
                            "wrong": value not in expected or at in refused,
                            "seconds": seconds.get(at),
                        }
                    )
        columns = ("rater", "item", "question", "check", "again", "number")  # of a study without answers
        self.frame = DataFrame(rows) if rows else DataFrame(columns=columns)
        self.rated = self.frame[~(self.frame.check | self.frame.again).astype(bool)]
        self.raters = [rater for rater in log.orders if rater in set(self.rated.rater)]

    def points(self, question: str) -> list[float]:
        """The scale as numbers, in ascending order."""
        return sorted(NUMBERS.get(point, point) for point in self.form.questions[question].points)  # type: ignore[arg-type]

    def matrix(self, question: str, raters: Sequence[str], *candidates: int) -> DataFrame:
        """Ratings, shape [items, raters], NaN if missing; only of items with the replies of these candidates, if any
        are named. The index has dialogue and sample, or dialogue and item."""
        of = self.rated[self.rated.question == question]
        for column, candidate in zip("ab", candidates, strict=False):
            of = of[of[column] == candidate]
        index = ["dialogue", "sample" if candidates else "item"]
        return of.pivot(index=index, columns="rater", values="number").reindex(columns=list(raters)).astype(float)

    def facts(self, rater: str, max_failed: float) -> RaterFacts:
        """The statistics of a rater, who passes if at most this share of checks failed."""
        frame = self.frame[self.frame.rater == rater]
        rated = self.rated[self.rated.rater == rater]
        checks = frame[frame.check].groupby("place").agg(loud=("loud", "first"), wrong=("wrong", "any"))
        failed = checks.groupby("loud").wrong.agg(["sum", "count"]).reindex([False, True], fill_value=0)
        silent, loud = ((int(had), int(of)) for had, of in failed.to_numpy())
        repeats = frame[frame.again].merge(rated, on=["item", "question"])
        same = repeats.value_x == repeats.value_y
        times = frame.groupby("place").seconds.first().median()
        answers = rated.groupby("place").value.agg(["nunique", "count"])
        browsers = {entry.browser for entry in self.log.entries if entry.rater == rater and entry.browser}
        return RaterFacts(
            items=len(answers),
            silent=silent,
            loud=loud,
            repeats=len(same),
            same=100 * float(same.mean()) if len(same) else None,
            seconds=float(times) if times == times else None,  # noqa: PLR0124 - not NaN
            straight=100 * float(((answers["nunique"] == 1) & (answers["count"] > 1)).mean()) if len(answers) else 0,
            cannot=int((rated.value == CANNOT).sum()),
            browsers=len(browsers),
            passed=int(checks.wrong.sum()) <= max_failed * len(checks),
        )
