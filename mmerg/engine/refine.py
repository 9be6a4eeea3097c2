"""The loop: run the stages, audit, run again from the earliest fault, and pick the best pass.

MERG, arXiv 2604.18988, section 3 (global reflection and refinement): pass t = 0 is the first full run; every pass is
audited, the last one too; at most `max_iterations` refinements; the response comes from the lexicographic maximum of
(c1, …, cn, -t). Without an auditor there is one pass and it is the response. Knows nothing of prompts or backends:
`ask` answers for a stage.

    outcome = refine(system, State(scene, keyframes), ask, trace.emit)
    outcome.selected.state.get("R")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mmerg.engine.state import Again, Output, Pass, State
from mmerg.errors import CallError, Failure, ReplyError, SampleError
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.systems.audit import Audit, audit_of
from mmerg.systems.system import FinalSelection, Stage, System


class Ask(Protocol):
    """Answers for one stage in pass t. Raises ReplyError where no usable answer could be had, CallError where the
    backend failed."""

    def __call__(self, stage: Stage, state: State, t: int, again: Again | None = None) -> Output: ...


@dataclass(frozen=True)
class Outcome:
    """All passes in order, the selected one, and why the loop ended (see `events.Ended`)."""

    passes: tuple[Pass, ...]
    selected: Pass
    ended: events.Ended


def refine(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """Run `system` on `state`. Raises SampleError where the first pass fails or no pass has a readable audit.

    A later pass that cannot be finished or audited ends the loop; the passes before it stay candidates.
    """
    sample = state.scene.id
    passes: list[Pass] = []
    again: Again | None = None
    for t in range(system.max_iterations + 1):
        try:
            state = _complete(system, state, ask, emit, t, again)
        except SampleError as error:
            if not passes or not _final(error):
                raise
            emit(events.PassLost(sample=sample, t=t, failure=error.failure, what=error.what))
            return _finish(system, sample, passes, "unusable", emit)
        if system.auditor is None:
            only = Pass(t, state, None, again)
            emit(events.Selected(sample=sample, t=t, ranks={}, ended="no auditor"))
            return Outcome((only,), only, "no auditor")
        try:
            reply = ask(system.auditor, state, t)
        except SampleError as error:
            if not _final(error) or (isinstance(error, CallError) and not passes):
                raise
            passes.append(Pass(t, state, None, again))
            emit(events.Unaudited(sample=sample, t=t, failure=error.failure, what=error.what))
            if len(passes) == 1:
                raise ReplyError(
                    Failure.UNAUDITED,
                    f"the audit cannot be used ({error.failure}): {error.what}",
                    where=error.where,
                    hint=error.hint or "see the raw replies: python -m mmerg.show RUN SAMPLE --prompts",
                ) from error
            return _finish(system, sample, passes, "unaudited", emit)
        assert not isinstance(reply, str)
        audit = audit_of(reply)
        passes.append(Pass(t, state, audit, again))
        emit(events.Audited(sample=sample, t=t, audit=audit, checks=audit.checks, fault=audit.fault))
        if audit.fault is None:
            return _finish(system, sample, passes, "passed", emit)
        if t < system.max_iterations:
            state, again = _back_to(system, state, audit)
            emit(
                events.Rerun(
                    sample=sample, t=t + 1, stage=again.stage, reason=again.reason, correction=again.correction
                )
            )
    return _finish(system, sample, passes, "max_iterations", emit)


def _complete(system: System, state: State, ask: Ask, emit: Emit, t: int, again: Again | None) -> State:
    """Run every stage whose output is not there yet."""
    for stage in system.stages:
        if state.get(stage.gives) is None:
            output = ask(stage, state, t, again if again and again.stage == stage.name else None)
            state = state.with_(stage.gives, output)
            emit(events.Produced.of(state.scene.id, t, stage.name, stage.gives, output))
    return state


REFUSED = frozenset({Failure.CONTEXT_OVERFLOW, Failure.IMAGE_REJECTED, Failure.BAD_REQUEST})


def _final(error: SampleError) -> bool:
    """Whether asking again cannot help: the model's own reply, or a prompt that grew over what the server takes."""
    return isinstance(error, ReplyError) or error.failure in REFUSED


def _back_to(system: System, state: State, audit: Audit) -> tuple[State, Again]:
    """The state before the earliest fault a*, and what a* is told: agents before it keep their output."""
    [stage] = [stage for stage in system.stages if stage.name == audit.fault]
    previous = state.get(stage.gives)
    assert previous is not None
    finding = audit.findings[stage.name]
    return state.before(stage.gives), Again(stage.name, previous, finding.reason, finding.correction)


def select(passes: Sequence[Pass], by: FinalSelection = "lexicographic") -> Pass:
    """The pass with the lexicographic maximum of (c1, …, cn, -t): upstream checks outrank downstream ones and the
    earlier pass wins a tie; `last` takes the latest candidate instead (the paper's row without final selection).
    An unaudited pass is no candidate. Raises ReplyError (unaudited) if there is none."""
    ranked = [(rank, candidate) for candidate in passes if (rank := candidate.rank()) is not None]
    if not ranked:
        raise ReplyError(Failure.UNAUDITED, "no pass has an audit that can be read")
    return ranked[-1][1] if by == "last" else max(ranked, key=lambda pair: pair[0])[1]


def _finish(system: System, sample: str, passes: list[Pass], ended: events.Ended, emit: Emit) -> Outcome:
    selected = select(passes, system.final_selection)
    ranks = {candidate.t: rank for candidate in passes if (rank := candidate.rank()) is not None}
    emit(events.Selected(sample=sample, t=selected.t, ranks=ranks, ended=ended, by=system.final_selection))
    return Outcome(tuple(passes), selected, ended)
