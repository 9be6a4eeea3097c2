"""The interface of loops, and the functions that they share.

A loop decides which stages run, how often, and which pass is selected. It is a function
`(system, state, ask, emit) -> Outcome`, independent of prompts, backends and systems.

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
    """The function that returns the output of a stage in pass t. candidate: determines the seed, and stores the model's
    completion. Raises CompletionError if no completion is valid, and CallError if the backend fails."""

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
    """All passes in order, the selected pass, and why the loop ended."""

    passes: tuple[Pass, ...]
    selected: Pass
    ended: str


Loop = Callable[[System, State, Ask, Emit], Outcome]  # raises SampleError if the sample fails


def complete(
    system: System,
    state: State,
    ask: Ask,
    emit: Emit,
    t: int,
    correction: Correction | None = None,
    candidate: Candidate | None = None,
) -> State:
    """Runs every stage that has no output yet, and returns the complete state. The stage that `correction` names sees
    the correction; later stages see the outputs that it retains."""
    renewed = {stage.gives for stage in system.stages if correction and correction.stage == stage.name}
    for stage in system.stages:
        if state.get(stage.gives) is None:
            output = ask(stage, state, t, correction.for_stage(stage, renewed) if correction else None, candidate)
            state = state.with_output(stage.gives, output)
            renewed.add(stage.gives)
            emit(events.Produced.from_output(state.scene.id, t, stage.name, stage.gives, output))
    return state


def single(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """Makes one pass: runs every stage once, in order. Raises SampleError if a stage fails."""
    only = Pass(0, complete(system, state, ask, emit, 0))
    emit(events.Selected(sample=state.scene.id, t=0, ranks={}, ended="no auditor"))
    return Outcome((only,), only, "no auditor")


def select(passes: Sequence[Pass], selection: Selection = "lexicographic") -> Pass:
    """Returns the pass with the highest rank; with `last`, the latest pass that has a rank (the paper's row without
    final selection). If no pass has a rank, returns the first."""
    ranked = [pass_ for pass_ in passes if pass_.rank()]
    if selection == "last" and ranked:
        return ranked[-1]
    return max(passes, key=Pass.rank)


def finish(sample: str, passes: Sequence[Pass], ended: str, selection: Selection, emit: Emit) -> Outcome:
    """Selects a pass, and emits the selection. ended: why the loop ended."""
    selected = select(passes, selection)
    ranks = {pass_.t: rank for pass_ in passes if (rank := pass_.rank())}
    emit(events.Selected(sample=sample, t=selected.t, ranks=ranks, ended=ended, by=selection))
    return Outcome(tuple(passes), selected, ended)
