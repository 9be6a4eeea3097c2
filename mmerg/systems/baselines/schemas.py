"""What the baselines answer where it is no plain text."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from mmerg.systems.fields import Choice


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Answer(_Record):
    """A: the emotion that the next turn carries, and its words."""

    emotion: Annotated[str, Choice("emotion"), Field(description="the emotion that the next turn carries")]
    response: Annotated[str, Field(min_length=1, max_length=480, description="the next turn, word for word")]
