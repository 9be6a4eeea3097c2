"""The outputs of the baselines that are not plain text."""

from typing import Annotated

from pydantic import Field

from mmerg.storage.record import Record
from mmerg.systems.fields import AtMost, Choice


class Label(Record):
    """e: the emotion of the person that the dataset labels."""

    emotion: Annotated[str, Choice("emotion"), Field(description="the emotion")]


class Answer(Record):
    """A: the emotion of the person that the dataset labels, and the words of the next turn."""

    emotion: Annotated[str, Choice("emotion"), Field(description="the emotion")]
    response: Annotated[str, AtMost(40), Field(min_length=1, description="the next turn, word for word")]


Points = Annotated[int, Field(ge=0, le=3)]


class Feedback(Record):
    """The critic's feedback on a draft: what to do better, then ten traits of a reply, 0 to 3 points each (Madaan et
    al., 2023, arXiv 2303.17651, on dialogue responses)."""

    feedback: Annotated[str, AtMost(60), Field(min_length=1, description="what is weak, and how to fix it")]
    relevant: Points
    informative: Points
    interesting: Points
    consistent: Points
    helpful: Points
    engaging: Points
    specific: Points
    safe: Points
    understanding: Points
    fluent: Points
    good_enough: Annotated[bool, Field(description="true only if nothing is left to improve")]

    @property
    def points(self) -> int:
        """0 to 30."""
        return sum(value for name, value in self if name not in ("feedback", "good_enough"))
