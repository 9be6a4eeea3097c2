"""One pass: every stage is asked once, in order, and what they gave is the result."""

from __future__ import annotations

from mmerg.engine.loops.loop import Ask, Outcome, complete
from mmerg.engine.state import Pass, State
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.systems.system import System


def single(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """Raises SampleError where a stage fails."""
    only = Pass(0, complete(system, state, ask, emit, 0))
    emit(events.Selected(sample=state.scene.id, t=0, ranks={}, ended="no auditor"))
    return Outcome((only,), only, "no auditor")
