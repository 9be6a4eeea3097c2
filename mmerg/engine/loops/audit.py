"""The loop of MERG: run the stages, audit, run again from the earliest fault, and pick the best pass.

arXiv 2604.18988, section 3 (global reflection and refinement): pass t = 0 is the first full run; every pass is
audited, the last one too; at most `max_iterations` refinements; the response comes from the lexicographic maximum of
(c1, …, cn, -t). Without an auditor there is one pass and it is the response.

    outcome = audit(system, State(scene, keyframes), ask, trace.emit)
    outcome.selected.state.get("R")
"""

from __future__ import annotations

from dataclasses import replace

from mmerg.engine.loops.loop import Ask, Outcome, audited_passes, single
from mmerg.engine.state import Correction, Output, Pass, State
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.systems.audit import audit_of
from mmerg.systems.system import System


def audit(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """See `audited_passes` for its errors."""
    if system.auditor is None:
        return single(system, state, ask, emit)

    def read(reply: Output, this: Pass) -> tuple[Pass, Correction | str]:
        assert not isinstance(reply, str)
        found = audit_of(reply)
        emit(events.Audited(sample=state.scene.id, t=this.t, audit=found, checks=found.checks, fault=found.fault))
        audited = replace(this, audit=found)
        if found.fault is None:
            return audited, "passed"
        [faulty] = [stage for stage in system.stages if stage.name == found.fault]
        finding, previous = found.findings[faulty.name], this.state.get(faulty.gives)
        assert previous is not None
        return audited, Correction(faulty.name, previous, finding.reason, finding.correction)

    return audited_passes(system, system.auditor, state, ask, emit, read, system.final_selection)
