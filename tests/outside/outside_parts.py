"""A user's classes, which the configs in this folder name."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from mmerg.engine.loops.loop import Ask, Outcome, complete, finish
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import Pass, State
from mmerg.runs.events import Emit
from mmerg.systems.fields import Choice, Index
from mmerg.systems.system import StageInput, System


class Label(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    emotion: Annotated[str, Choice("emotion")]
    turn: Annotated[int, Index("turn")]


class Classifier:
    """The function of a stage: gives the first label, and the last turn that contains `word`."""

    def __init__(self, word: str, answer: Any = None) -> None:
        self.word, self.answer = word, answer

    def __call__(self, stage: StageInput) -> object:
        if self.answer == "raise":
            raise KeyError("no such weight")
        if self.answer is not None:
            return self.answer
        turns: Any = stage.inputs["D"]
        numbers = [turn.number for turn in turns if self.word in turn.text] or [1]
        return {"emotion": stage.labels[0], "turn": numbers[-1]}


class Facts:
    """A source that supplies a line of a file per sample, and the forecast that the stage sees."""

    def __init__(self, file: str) -> None:
        self.lines = Path(file).expanduser().read_text(encoding="utf-8").splitlines()
        self.digest = "\n".join(self.lines)

    def supply(self, sample: Any, state: State, forecast: str | None) -> SourceOutput:
        return SourceOutput(
            ({"fact": self.lines[len(state.scene.history) % len(self.lines)], "for": forecast or "nobody"},)
        )


class Feedback(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    said: Annotated[str, Field(max_length=80)]
    warmth: Annotated[int, Field(ge=1, le=5)]
    tact: Annotated[int, Field(ge=1, le=5)]
    good: bool

    @property
    def points(self) -> int:
        return self.warmth + self.tact


def twice(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """Runs two passes and selects the second."""
    passes = [Pass(t, complete(system, state, ask, emit, t), score=(t,)) for t in (0, 1)]
    return finish(state.scene.id, passes, "two passes", "lexicographic", emit)
