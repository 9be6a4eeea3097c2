"""The form of a study: its questions, their scales, and what raters read first. See conf/rating/likert.yaml."""

from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

import yaml
from pydantic import Field, model_validator

from mmerg.errors import ConfigError, did_you_mean
from mmerg.settings.groups import conf_folder, list_options
from mmerg.storage.files import describe_error
from mmerg.storage.record import Record

Choice = Literal["first", "tie", "second"]
Point = int | Choice
CANNOT = "cannot"  # an answer to a question besides the points of its scale
COMMENT, SUBMIT, CONSENT, TAKE = "comment", "submit", "consent", "take"  # entries besides answers
RESERVED = {COMMENT, SUBMIT, CONSENT, TAKE}


class Question(Record):
    """A question on each item."""

    ask: str  # its text
    points: Annotated[dict[Point, str], Field(min_length=2)]  # the scale in order, with texts


class BadReply(Record):
    """A reply that is bad in any context."""

    text: str
    fails: tuple[str, ...]  # the questions on which it must score low


class GoldChecks(Record):
    """Checks of attention: bad replies, which a rater must score low."""

    scrambled: tuple[str, ...] = ()  # questions on which a reply with its words in random order must score low
    written: tuple[BadReply, ...] = ()  # other bad replies
    note: str = "Please read it again. One of your answers does not match it."  # after a failed loud check


class ShownTurn(NamedTuple):
    """A turn as a rater sees it."""

    speaker: str
    text: str
    media: tuple[str, ...] = ()  # file names of its clip or keyframes


class StudyItem(Record):
    """An item as a rater sees it."""

    history: Annotated[tuple[ShownTurn, ...], Field(min_length=1)]
    responder: str
    replies: tuple[str, ...]
    expect: dict[str, tuple[Point, ...]] = Field(default_factory=dict)  # correct answers, which the page never gets
    why: str = ""  # the feedback, sent once the rater has answered


class StudyForm(Record):
    """The form of a study."""

    title: str
    replies: Literal[1, 2]  # of an item: 1, rated on a scale of numbers, or 2, compared (first, tie, second)
    instructions: tuple[str, ...]
    consent: str
    questions: Annotated[dict[str, Question], Field(min_length=1)]
    gold: GoldChecks = GoldChecks()
    training: tuple[StudyItem, ...] = ()  # to practise on

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for name, question in self.questions.items():
            numbers = [point for point in question.points if isinstance(point, int)]
            if self.replies == 2:
                scale, fits = "first, tie, second", not numbers
            else:
                scale, fits = "numbers in ascending order, at most 9", numbers == sorted(question.points, key=str)
            if name in RESERVED or not fits:
                raise ValueError(f"question {name}: its points must be {scale}, and its name none of {RESERVED}")
        named = {*self.gold.scrambled, *(name for bad in self.gold.written for name in bad.fails)}
        named.update(*(practice.expect for practice in self.training))
        if unknown := named - self.questions.keys():
            raise ValueError(f"checks name unknown questions: {', '.join(sorted(unknown))}")
        if any(len(practice.replies) != self.replies for practice in self.training):
            raise ValueError(f"every training item needs {self.replies} replies")
        return self

    def list_low_points(self, question: str) -> tuple[Point, ...]:
        """Returns the correct answers for a bad reply: the two lowest points; of a pair the first reply, as the bad one
        is the second."""
        return ("first",) if self.replies == 2 else tuple(self.questions[question].points)[:2]


def read_form(design: str) -> StudyForm:
    """Reads the form of `design=`: the name of one in conf/rating, or the path of the user's file. Raises ConfigError
    if there is no such form, or it is not valid."""
    file = conf_folder() / "rating" / f"{design}.yaml"
    path = file if file.is_file() else Path(design)
    if not path.is_file():
        designs = list_options("rating")
        hint = f"{did_you_mean(design, designs)} {', '.join(designs)}, or the path of a YAML file"
        raise ConfigError(f"there is no design {design}", where="design", hint=hint.strip())
    try:
        return StudyForm.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, yaml.YAMLError) as error:
        what = f"the form is not valid: {error if isinstance(error, yaml.YAMLError) else describe_error(error)}"
        raise ConfigError(what, where=str(path), hint="see conf/rating/likert.yaml for an example") from error
