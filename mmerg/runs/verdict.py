"""What a judge says of one aspect of one sample."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from mmerg.errors import Failure

Choice = Literal["first", "second", "tie"]


class Verdict(BaseModel):
    """One answer of the judge on one aspect. order: the judged runs by number, as their replies were shown; round
    counts from 0 over orders and repeats, and is `t` in the trace. One reply gets a `score`, of two one is the
    `choice`, named by its place. Neither is there where the answer could not be used: then `failure` says why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    aspect: str
    round: int
    order: tuple[int, ...]
    repeat: int
    seed: int
    score: int | None = None
    choice: Choice | None = None
    reason: str = ""
    failure: Failure | None = None

    @property
    def usable(self) -> bool:
        return self.failure is None

    @property
    def preferred(self) -> int | None:
        """The run whose reply was chosen, None for a tie."""
        return None if self.choice in (None, "tie") else self.order[0 if self.choice == "first" else 1]
