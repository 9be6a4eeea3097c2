"""The answers of a study as a data frame, each with its item; and statistics of each rater.

answers = StudyAnswers(log, read_key(folder))
answers.matrix("empathy", answers.raters)    # a row per item, a column per rater
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmerg.rating.form import CANNOT, SUBMIT, Point
from mmerg.rating.store import AGAIN, RatingLog, to_item_order
from mmerg.rating.study import Key
from mmerg.storage.record import Record

if TYPE_CHECKING:
    from pandas import DataFrame

NUMBERS: dict[Point | str, float] = {"first": 1.0, "tie": 0.0, "second": -1.0}


class RaterStatistics(Record):
    """Statistics of a rater."""

    items: int  # rated ones, without checks and repeats
    silent: tuple[int, int]  # checks that the rater failed, and answered
    loud: tuple[int, int]
    repeats: int  # second answers to a question on an item
    same: float | None  # share (%) of the repeats that are equal to the first answer
    seconds: float | None  # the median per item
    straight: float  # share (%) of items with the same answer to all questions
    cannot: int  # answers "cannot judge"
    browsers: int  # that used the rater's link
    passed: bool


class StudyAnswers:
    """The answers of a study.

    `frame` has a row per answer to a question, without practice. Its column `value` is relative to the item's order of
    replies, not to the order shown. `number` is the point of the scale; for pairs 1, 0 or -1 if the first reply is
    better, neither, or the second; NaN for "cannot judge". `wrong` is true for the wrong answer to a check.
    """

    def __init__(self, log: RatingLog, key: Key) -> None:
        from pandas import DataFrame

        self.log, self.key, self.form = log, key, log.study.form
        self.items = {code: item for code, item in key.items.items() if item.candidates}
        submits = [entry for entry in log.entries if entry.question == SUBMIT]
        seconds = {(entry.rater, entry.place): entry.ms / 1000 for entry in submits}
        asked_again = {(entry.rater, entry.place) for entry in submits if entry.value == AGAIN}
        rows = []
        for (rater, place), answers in sorted(log.answers.items()):
            shown = log.get_shown(rater, place)
            item = key.items.get(shown.item)
            if item is None:  # practice
                continue
            for question in self.form.questions:
                if question not in answers:
                    continue
                value = to_item_order(answers[question], shown)
                expected = item.expect.get(question, (value,))
                rows.append(
                    {
                        "rater": rater,
                        "place": place,
                        **shown.model_dump(),
                        **item.model_dump(include={"sample", "dialogue", "loud"}),
                        "check": not item.candidates,
                        "a": item.candidates[0] if item.candidates else None,
                        "b": item.candidates[1] if item.candidates[1:] else None,
                        "question": question,
                        "value": value,
                        "number": NUMBERS.get(value, None if isinstance(value, str) else float(value)),
                        "wrong": value not in expected or (rater, place) in asked_again,
                        "seconds": seconds.get((rater, place)),
                    }
                )
        columns = ("rater", "item", "question", "check", "again", "number")  # those needed if there are no answers
        self.frame = DataFrame(rows) if rows else DataFrame(columns=columns)
        self.rated = self.frame[~(self.frame.check | self.frame.again).astype(bool)]
        self.raters = [rater for rater in log.orders if rater in set(self.rated.rater)]

    def list_points(self, question: str) -> list[float]:
        """Returns the scale as numbers, in ascending order."""
        return sorted(NUMBERS.get(point, point) for point in self.form.questions[question].points)  # type: ignore[arg-type]

    def matrix(self, question: str, raters: Sequence[str], *candidates: int) -> DataFrame:
        """Returns the ratings, shape [items, raters], with NaN if missing. If candidates are given, only of items with
        their replies. The index is dialogue and item; with candidates, dialogue and sample."""
        rows = self.rated[self.rated.question == question]
        for column, candidate in zip("ab", candidates, strict=False):
            rows = rows[rows[column] == candidate]
        index = ["dialogue", "sample" if candidates else "item"]
        return rows.pivot(index=index, columns="rater", values="number").reindex(columns=list(raters)).astype(float)

    def measure_rater(self, rater: str, max_failed: float) -> RaterStatistics:
        """Computes a rater's statistics. max_failed: the share of checks (0 to 1) that a rater who passes may fail."""
        frame = self.frame[self.frame.rater == rater]
        rated = self.rated[self.rated.rater == rater]
        checks = frame[frame.check].groupby("place").agg(loud=("loud", "first"), wrong=("wrong", "any"))
        failed = checks.groupby("loud").wrong.agg(["sum", "count"]).reindex([False, True], fill_value=0)
        silent, loud = ((int(wrong), int(answered)) for wrong, answered in failed.to_numpy())
        repeats = frame[frame.again].merge(rated, on=["item", "question"])
        same = repeats.value_x == repeats.value_y
        times = frame.groupby("place").seconds.first().median()
        answers = rated.groupby("place").value.agg(["nunique", "count"])
        browsers = {entry.browser for entry in self.log.entries if entry.rater == rater and entry.browser}
        return RaterStatistics(
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
