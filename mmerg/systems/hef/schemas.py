"""What HEF's one call answers (2024): emotion and reply."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mmerg.storage.record import Record
from mmerg.systems.fields import AtMost, Choice


class Answer(Record):
    """A: an emotion, of whom the dataset says, and the words of the next turn."""

    emotion: Annotated[str, Choice("emotion"), Field(description="the emotion that is asked for")]
    response: Annotated[str, AtMost(40), Field(min_length=1, description="the next turn, word for word")]
