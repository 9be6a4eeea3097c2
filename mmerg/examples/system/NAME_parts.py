"""The output classes of NAME. Classes that compute an output without a model can be here, too."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from mmerg.systems.fields import AtMost, Choice


class Answer(BaseModel):
    """The reasoning precedes the emotion, as a model writes fields in order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reasoning: Annotated[str, AtMost(20), Field(min_length=1, description="what the other person feels")]
    emotion: Annotated[str, Choice("emotion"), Field(description="the emotion that the next turn carries")]
    reply: Annotated[str, AtMost(40), Field(min_length=1, description="the next turn, only the words")]
