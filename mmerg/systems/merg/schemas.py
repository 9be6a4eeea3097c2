"""Outputs of MERG's agents (arXiv 2604.18988, section 3): evidence E, emotion e, plan P. R is plain text.

A model writes fields in order. A forecast has its reasoning first, so that it can affect the emotion. A plan has its
choices first; otherwise its reasons were copied from the forecast, and most scenes got the same choices. Lengths are in
words, with room for twice as many, so that a completion ends within its token limit, and under the 2,000 characters
that grammars enforce. Fields about frames are requested only of agents that see them.
"""

from typing import Annotated, Literal

from pydantic import Field

from mmerg.storage.record import Record
from mmerg.systems.fields import AtMost, Choice, Index, needs

Sentence = Annotated[str, Field(min_length=1), AtMost(20)]
Reasoning = Annotated[str, Field(min_length=1), AtMost(40)]


class TextualCue(Record):
    """A cue in the words of one turn."""

    turn: Annotated[int, Index("turn"), Field(description="the number of its turn")]
    cue: Annotated[Sentence, Field(description="the quoted words, and what stands out in them")]


class VisualCue(Record):
    """A cue in one keyframe."""

    frame: Annotated[int, Index("frame"), Field(description="the number of its frame")]
    cue: Annotated[Sentence, Field(description="what is seen: face, gaze, posture, movement, distance")]


class Evidence(Record):
    """E, by MPA: concrete cues, each with its turn or frame; observations, no conclusions."""

    textual_cues: Annotated[tuple[TextualCue, ...], Field(min_length=1, max_length=4)]
    visual_cues: Annotated[tuple[VisualCue, ...], Field(max_length=4, json_schema_extra=needs("V"))] = ()


class _Emotion(Record):
    emotion: Annotated[str, Choice("emotion"), Field(description="the emotion")]


class _Consistency(Record):
    textual: Annotated[Sentence, Field(description="what the words so far say about the feeling")]
    visual: Annotated[
        Sentence | None, Field(description="what the frames say about the feeling", json_schema_extra=needs("V"))
    ] = None
    consistency: Annotated[
        Literal["agree", "partly agree", "conflict"] | None,
        Field(description="whether words and frames agree", json_schema_extra=needs("V")),
    ] = None
    reasoning: Annotated[Reasoning, Field(description="which of them matters more, and why")]


# Fields of the last base come first.
class Forecast(_Emotion, _Consistency):
    """e, by CAEF: agreement or conflict of the cues, then the emotion that follows, one of the dataset's labels."""


class EmotionFirst(_Consistency, _Emotion):
    """e with the emotion before its reasons (measured in docs/quality.md)."""


class Plan(Record):
    """P = (goal, stance, tactic, tone), by PSP."""

    goal: Annotated[str, Choice("goal"), Field(description="what the reply should achieve")]
    stance: Annotated[str, Choice("stance"), Field(description="the speaker's attitude to the other person")]
    tactic: Annotated[str, Choice("tactic"), Field(description="the pragmatic move")]
    tone: Annotated[str, Choice("tone"), Field(description="how the words sound")]
    reasoning: Annotated[Reasoning, Field(description="what the other person needs now, and why this plan fits")]
