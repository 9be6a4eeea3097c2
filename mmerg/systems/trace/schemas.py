"""Outputs of TRACE's agents (arXiv 2509.21849, section 3): emotion e, cause c, strategy s. R is plain text."""

from typing import Annotated

from pydantic import Field

from mmerg.storage.record import Record
from mmerg.systems.fields import AtMost, Choice, Quote

Reasoning = Annotated[str, Field(min_length=1), AtMost(40)]


class Emotion(Record):
    """e, by ASI: the emotion that the dataset's labels name; on EmpatheticDialogues one of Ekman's six."""

    reasoning: Annotated[Reasoning, Field(description="which words show the feeling")]
    final_emotion: Annotated[str, Choice("emotion")]


class Cause(Record):
    """c = (S_trigger, c_sum, c_cat), by CAE: the words that caused the emotion, and why."""

    trigger_spans: Annotated[
        tuple[Annotated[str, AtMost(40), Quote(), Field(min_length=1)], ...],
        Field(min_length=1, max_length=2, description="sentences of the people being answered"),
    ]
    global_cause_summary: Annotated[Reasoning, Field(description="the cause in one sentence")]
    cause_category: Annotated[str, Choice("cause")]


class Strategy(Record):
    """s, by SRP: how the reply communicates empathy; a second strategy may blend with the first."""

    reasoning_for_choice: Annotated[Reasoning, Field(description="what the other person needs now")]
    chosen_strategy: Annotated[str, Choice("strategy")]
    secondary_strategy: Annotated[str, Choice("blend"), Field(description="to blend in, if any")]
