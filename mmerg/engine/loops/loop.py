"""What loops have in common: how they ask, and what they return.

A loop decides which stages are asked, how often, and which pass the result comes from. It is a function
`(system, state, ask, emit) -> Outcome` and knows nothing of prompts, backends or the names of systems.

    def two_drafts(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
        first, second = (complete(system, state, ask, emit, t, candidate=Candidate(t)) for t in (0, 1))
        passes = [Pass(0, first, score=(0,)), Pass(1, second, score=(1,))]
        return finish(state.scene.id, passes, "two drafts", "last", emit)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mmerg.engine.state import Candidate, Correction, Output, Pass, State
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.settings.model import Selection
from mmerg.systems.system import Stage, System


class Ask(Protocol):
    """Answers for one stage in pass t. With a candidate it takes the seed of its number, and keeps the reply there.
    Raises ReplyError where no reply can be used, CallError where the backend failed."""

    def __call__(
        self,
        stage: Stage,
        state: State,
        t: int,
        correction: Correction | None = None,
        candidate: Candidate | None = None,
    ) -> Output: ...


@dataclass(frozen=True)
class Outcome:
    """All passes in order, the selected one, and why the loop ended, in a few words."""

    passes: tuple[Pass, ...]
    selected: Pass
    ended: str


Loop = Callable[[System, State, Ask, Emit], Outcome]  # raises SampleError where the sample cannot be finished


def complete(
    system: System,
    state: State,
    ask: Ask,
    emit: Emit,
    t: int,
    correction: Correction | None = None,
    candidate: Candidate | None = None,
) -> State:
    """Ask every stage whose output is not there yet. `correction` is shown to the stage that it names; what it retains,
    to the stages after it."""
    renewed = {stage.gives for stage in system.stages if correction and correction.stage == stage.name}
    for stage in system.stages:
        if state.get(stage.gives) is None:
            output = ask(stage, state, t, correction.for_stage(stage, renewed) if correction else None, candidate)
            state = state.with_(stage.gives, output)
            renewed.add(stage.gives)
            emit(events.Produced.of(state.scene.id, t, stage.name, stage.gives, output))
    return state


def single(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """One pass: every stage is asked once, in order. Raises SampleError where a stage fails."""
    only = Pass(0, complete(system, state, ask, emit, 0))
    emit(events.Selected(sample=state.scene.id, t=0, ranks={}, ended="no auditor"))
    return Outcome((only,), only, "no auditor")


def select(passes: Sequence[Pass], by: Selection = "lexicographic") -> Pass:
    """The pass of the highest rank, or with `last` the latest that has one (the paper's row without final selection);
    where none has, the first."""
    if by == "last" and (ranked := [candidate for candidate in passes if candidate.rank()]):
        return ranked[-1]
    return max(passes, key=Pass.rank)


def finish(sample: str, passes: Sequence[Pass], ended: str, by: Selection, emit: Emit) -> Outcome:
    """The outcome of a loop whose passes have ranks; emits what was selected."""
    selected = select(passes, by)
    ranks = {candidate.t: rank for candidate in passes if (rank := candidate.rank())}
    emit(events.Selected(sample=sample, t=selected.t, ranks=ranks, ended=ended, by=by))
    return Outcome(tuple(passes), selected, ended)
