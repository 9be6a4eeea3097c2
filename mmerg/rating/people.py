"""People's ratings of a run's replies, in a file beside the run: rating-<study>.json.

read_people_ratings(run)["people@study"].scores["empathy"]
"""

from pathlib import Path
from typing import Literal

from mmerg.console.tables import format_number
from mmerg.judging.judgement import refuse_stale
from mmerg.scoring.score import Score
from mmerg.storage.record import Record, read_record


class PersonRating(Record):
    """A rater's answer to a question on an item."""

    rater: str
    sample: str
    dialogue: str
    question: str
    score: int | None = None  # of the reply; None for "cannot judge"
    outcome: str | None = None  # of a pair, for the run; None for "cannot judge"
    first: bool | None = None  # the run's reply was on the left
    again: bool = False  # the rater saw the item a second time
    seconds: float | None = None
    against: str | None = None


class PeopleRatings(Record):
    """People's ratings of a run's replies in a study."""

    judge: Literal["people"] = "people"
    study: str
    replies: str  # their digest (see `digest_replies`)
    raters: int
    items: int
    scores: dict[str, Score]  # means by question
    against: dict[str, dict[str, Score]]  # scores of pairs by opponent, each named `<score>_<question>`
    agreement: dict[str, Score]  # ordinal alpha by question
    ratings: tuple[PersonRating, ...]

    @property
    def name(self) -> str:
        return f"{self.judge}@{self.study}"

    @property
    def description(self) -> str:
        """The number of raters and items, and the agreement."""
        alphas = (f"{name} {format_number(score.value)}" for name, score in self.agreement.items())
        return f"{self.raters} raters, {self.items} items, ordinal alpha {', '.join(alphas)}"


def rating_file(study: str) -> str:
    return f"rating-{study}.json"


def read_people_ratings(run: Path) -> dict[str, PeopleRatings]:
    """Reads the ratings beside a run, by name. Raises RunError if one cannot be read, or the replies have changed."""
    ratings = {}
    for file in sorted(run.glob(rating_file("*"))):
        hint = "run mmerg rate score STUDY to write the file again, or remove it"
        rating = read_record(file, PeopleRatings, hint)
        refuse_stale(run, rating.replies, file, "mmerg rate new STUDY RUN…")
        ratings[rating.name] = rating
    return ratings
