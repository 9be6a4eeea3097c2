"""The outputs of MultiAgentESC's agents that are not plain text."""

from collections import Counter
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from mmerg.storage.record import Record
from mmerg.systems.fields import AtMost, Choice

Text = Annotated[str, Field(min_length=1), AtMost(40)]
Vote = Annotated[int, Field(ge=1, le=3, description="the number of a proposal")]


class Proposal(Record):
    """A strategy, why it helps now, and a reply that follows it."""

    reasoning: Text
    strategy: Annotated[str, Choice("strategy")]
    reply: Text


class Proposals(Record):
    """p: three proposals with different strategies."""

    proposals: Annotated[tuple[Proposal, ...], Field(min_length=3, max_length=3)]

    @field_validator("proposals")
    @classmethod
    def _differ(cls, proposals: tuple[Proposal, ...], info: ValidationInfo) -> tuple[Proposal, ...]:
        if info.context and len({proposal.strategy for proposal in proposals}) < len(proposals):
            raise ValueError("two proposals have the same strategy: give each another one")
        return proposals


class Votes(Record):
    """v: a vote of each judge."""

    empathy: Vote
    helpfulness: Vote
    naturalness: Vote

    @property
    def winner(self) -> int:
        """The proposal with most votes, from 1; the first judge decides a tie."""
        return Counter((self.empathy, self.helpfulness, self.naturalness)).most_common(1)[0][0]


class Reflection(Record):
    """R: what the reply lacks, and the final reply."""

    reflection: Text
    response: Annotated[str, AtMost(40), Field(min_length=1, description="the next turn, word for word")]
