"""The outputs of a judge. The reason comes before the verdict, as a model writes fields in order."""

from typing import Annotated, Literal

from pydantic import Field

from mmerg.storage.record import Record
from mmerg.systems.fields import AtMost

LEVELS = (1, 2, 3, 4, 5)
Reason = Annotated[str, Field(min_length=1), AtMost(40)]


class Rating(Record):
    """A level from 1 to 5, as the aspect's anchors describe them."""

    reason: Annotated[Reason, Field(description="what in the reply decides the level")]
    score: Annotated[  # not a Literal, which accepts true and 1.0 as 1
        int,
        Field(
            ge=LEVELS[0],
            le=LEVELS[-1],
            description="the level that describes the reply best",
            json_schema_extra={"enum": list(LEVELS)},
        ),
    ]


class Preference(Record):
    """The better of two replies, or a tie."""

    reason: Annotated[Reason, Field(description="what in the two replies decides it")]
    better: Annotated[
        Literal["Reply 1", "Reply 2", "tie"], Field(description="tie if neither is better on this question")
    ]
