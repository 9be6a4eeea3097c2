"""What loops have in common: how they ask, what they return, and passes that an auditor looks at.

A loop decides which stages are asked, how often, and which pass the result comes from. It is a function
`(system, state, ask, emit) -> Outcome` and knows nothing of prompts, backends or the names of systems.

    def two_drafts(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
        first, second = (complete(system, state, ask, emit, t) for t in (0, 1))
        return finish(state.scene.id, [Pass(0, first, score=0), Pass(1, second, score=1)], "two drafts", "last", emit)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mmerg.engine.state import Correction, Output, Pass, State
from mmerg.errors import CallError, Failure, ReplyError, SampleError
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.settings.model import FinalSelection
from mmerg.systems.system import Stage, System

REFUSED = frozenset({Failure.CONTEXT_OVERFLOW, Failure.IMAGE_REJECTED, Failure.BAD_REQUEST})


class Ask(Protocol):
    """Answers for one stage in pass t. Raises ReplyError where no usable answer could be had, CallError where the
    backend failed."""

    def __call__(self, stage: Stage, state: State, t: int, correction: Correction | None = None) -> Output: ...


@dataclass(frozen=True)
class Outcome:
    """All passes in order, the selected one, and why the loop ended, in a few words."""

    passes: tuple[Pass, ...]
    selected: Pass
    ended: str


class Loop(Protocol):
    """Runs `system` on `state`. Raises SampleError where the sample cannot be finished."""

    def __call__(self, system: System, state: State, ask: Ask, emit: Emit) -> Outcome: ...


def complete(system: System, state: State, ask: Ask, emit: Emit, t: int, correction: Correction | None = None) -> State:
    """Ask every stage whose output is not there yet; `correction` is shown to the stage that it names."""
    for stage in system.stages:
        if state.get(stage.gives) is None:
            output = ask(stage, state, t, correction if correction and correction.stage == stage.name else None)
            state = state.with_(stage.gives, output)
            emit(events.Produced.of(state.scene.id, t, stage.name, stage.gives, output))
    return state


def single(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """One pass: every stage is asked once, in order. Raises SampleError where a stage fails."""
    only = Pass(0, complete(system, state, ask, emit, 0))
    emit(events.Selected(sample=state.scene.id, t=0, ranks={}, ended="no auditor"))
    return Outcome((only,), only, "no auditor")


Reader = Callable[[Output, Pass], tuple[Pass, Correction | str]]


def audited_passes(
    system: System, auditor: Stage, state: State, ask: Ask, emit: Emit, read: Reader, by: FinalSelection
) -> Outcome:
    """At most `max_iterations` + 1 passes, each shown to `auditor`. `read` takes its reply and gives the pass with what
    was said of it, and what is corrected in the next one, or why the loop ends.

    Raises SampleError where the first pass fails or no pass has an audit that can be read. A later pass that cannot be
    finished or audited ends the loop; the passes before it stay candidates.
    """
    sample = state.scene.id
    passes: list[Pass] = []
    correction: Correction | None = None
    for t in range(system.max_iterations + 1):
        if correction:
            [back_to] = [stage for stage in system.stages if stage.name == correction.stage]
            state = state.before(back_to.gives)
            why, what = correction.reason, correction.instruction
            emit(events.Rerun(sample=sample, t=t, stage=back_to.name, reason=why, correction=what))
        try:
            state = complete(system, state, ask, emit, t, correction)
        except SampleError as error:
            if not passes or not _final(error):
                raise
            emit(events.PassLost(sample=sample, t=t, failure=error.failure, what=error.what))
            return finish(sample, passes, "unusable", by, emit)
        this = Pass(t, state, correction=correction)
        try:
            reply = ask(auditor, state, t)
        except SampleError as error:
            if not _final(error) or (isinstance(error, CallError) and not passes):
                raise
            emit(events.Unaudited(sample=sample, t=t, failure=error.failure, what=error.what))
            if not passes:
                what = f"the audit cannot be used ({error.failure}): {error.what}"
                hint = error.hint or "see the raw replies: python -m mmerg.show RUN SAMPLE --prompts"
                raise ReplyError(Failure.UNAUDITED, what, where=error.where, hint=hint) from error
            return finish(sample, [*passes, this], "unaudited", by, emit)
        looked_at, verdict = read(reply, this)
        passes.append(looked_at)
        if isinstance(verdict, str):
            return finish(sample, passes, verdict, by, emit)
        correction = verdict
    return finish(sample, passes, "max_iterations", by, emit)


def _final(error: SampleError) -> bool:
    """Whether asking again cannot help: the model's own reply, or a prompt that grew over what the server takes."""
    return isinstance(error, ReplyError) or error.failure in REFUSED


def select(passes: Sequence[Pass], by: FinalSelection = "lexicographic") -> Pass:
    """The pass of the highest rank, or with `last` the latest that has one (the paper's row without final selection).
    Raises ReplyError (unaudited) if none has."""
    ranked = [(rank, candidate) for candidate in passes if (rank := candidate.rank()) is not None]
    if not ranked:
        raise ReplyError(Failure.UNAUDITED, "no pass has an audit that can be read")
    return ranked[-1][1] if by == "last" else max(ranked, key=lambda pair: pair[0])[1]


def finish(sample: str, passes: Sequence[Pass], ended: str, by: FinalSelection, emit: Emit) -> Outcome:
    """The outcome of a loop whose passes have ranks, told as an event."""
    selected = select(passes, by)
    ranks = {candidate.t: rank for candidate in passes if (rank := candidate.rank()) is not None}
    emit(events.Selected(sample=sample, t=selected.t, ranks=ranks, ended=ended, by=by))
    return Outcome(tuple(passes), selected, ended)
